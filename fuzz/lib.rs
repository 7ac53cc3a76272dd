//! What several targets need.

use keyspring::chacha::{ChaCha20, block};
use keyspring::cpu;
use keyspring::poly1305::mac;

/// Runs `f` on every backend of this machine, with thresholds and without.
pub fn on_every_backend(mut f: impl FnMut(&str)) {
    for backend in cpu::backends() {
        for tuning in ["", "+no-threshold", "+zen5"] {
            let name = format!("{backend}{tuning}");
            let _forced = cpu::force(&name).expect("it is usable");
            f(&name);
        }
    }
}

/// Runs `f` on the scalar backend.
pub fn scalar<R>(f: impl FnOnce() -> R) -> R {
    let _forced = cpu::force("scalar").expect("it is usable everywhere");
    f()
}

/// Ciphertext and tag by RFC 8439, section 2.8, step for step, in two passes on the scalar backend.
pub fn sealed_in_two_passes(
    key: &[u8; 32],
    nonce: &[u8; 12],
    aad: &[u8],
    plaintext: &[u8],
) -> Vec<u8> {
    scalar(|| {
        let one_time = block(key, 0, nonce);
        let mut sealed = plaintext.to_vec();
        let mut stream = ChaCha20::from_key(key, nonce);
        stream.seek_to(64);
        stream.apply_keystream(&mut sealed);
        let mut authenticated = aad.to_vec();
        authenticated.resize(aad.len().next_multiple_of(16), 0);
        authenticated.extend_from_slice(&sealed);
        authenticated.resize(authenticated.len().next_multiple_of(16), 0);
        authenticated.extend_from_slice(&(aad.len() as u64).to_le_bytes());
        authenticated.extend_from_slice(&(plaintext.len() as u64).to_le_bytes());
        sealed.extend_from_slice(&mac(one_time.first_chunk().expect("64 bytes"), &authenticated));
        sealed
    })
}

/// `len` bytes, painted with period 251 from `seed` on: a message need not be random, and so a few
/// bytes of input make a long one.
pub fn painted(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i + usize::from(seed)) % 251) as u8).collect()
}

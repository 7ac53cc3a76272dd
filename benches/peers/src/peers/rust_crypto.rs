//! RustCrypto: the crates chacha20, poly1305 and chacha20poly1305. They pick SIMD at run time;
//! AVX-512 needs the flag in `.cargo/config.toml`, too. poly1305 0.9 is slow on short messages as
//! its users get it: unless the whole program is compiled for AVX2, its vector instructions are
//! calls.

use chacha20::cipher::{KeyIvInit, StreamCipher};
use chacha20poly1305::aead::AeadInOut;
use poly1305::universal_hash::KeyInit;

use super::Peer;
use crate::traits::{Aead, ChaCha20, KEY, Poly1305};

/// RustCrypto.
pub fn peer() -> Peer {
    let versions = ["chacha20", "poly1305", "chacha20poly1305"]
        .map(|name| format!("{name} {}", super::locked_version(name)));
    Peer {
        version: versions.join(", "),
        chacha20: Some(Box::new(RustCrypto)),
        poly1305: Some(Box::new(RustCrypto)),
        aead: Some(Box::new(Cipher(chacha20poly1305::ChaCha20Poly1305::new(&KEY.into())))),
        ..Peer::default()
    }
}

struct RustCrypto;

impl ChaCha20 for RustCrypto {
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]) {
        chacha20::ChaCha20::new(&KEY.into(), nonce.into()).apply_keystream(data);
    }
}

impl Poly1305 for RustCrypto {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        poly1305::Poly1305::new(key.into()).compute_unpadded(message).into()
    }
}

struct Cipher(chacha20poly1305::ChaCha20Poly1305);

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.0 = chacha20poly1305::ChaCha20Poly1305::new(key.into());
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let tag = self.0.encrypt_inout_detached(nonce.into(), aad, data.into());
        tag.expect("the message is short enough").into()
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.0.decrypt_inout_detached(nonce.into(), aad, data.into(), tag.into()).is_ok()
    }
}

//! Before anything is timed: every peer's output against ours, and a forgery to each.

use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind, set_hook, take_hook};

use crate::peers::{Peer, Start};
use crate::traits::{AAD, Aead, ChaCha20, KEY, Poly1305, Random, painted};

/// Lengths around every edge that implementations branch on: blocks of 16 and 64 bytes, passes of
/// 4, 8 and 16 ChaCha20 blocks, and the lengths that are timed.
const LENGTHS: [usize; 40] = [
    0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193, 200, 255, 256, 257,
    288, 383, 384, 385, 511, 512, 513, 768, 1023, 1024, 1025, 1350, 1500, 2048, 3173, 4096, 8192,
    16384, 65537,
];

/// Checks all that `peer` offers, takes from it what does not hold, and returns a line for each.
pub fn check(peer: &mut Peer) -> Vec<String> {
    let mut errors = Vec::new();
    let mut keep = |what: &str, verdict: Result<(), String>| match verdict {
        Ok(()) => true,
        Err(error) => {
            errors.push(format!("{}: {what}: {error}", peer.name));
            false
        }
    };
    peer.chacha20.take_if(|cipher| !keep("ChaCha20", guarded(|| chacha20(&mut **cipher))));
    peer.poly1305.take_if(|mac| !keep("Poly1305", guarded(|| poly1305(&mut **mac))));
    peer.aead.take_if(|cipher| !keep("AEAD", guarded(|| aead(&mut **cipher))));
    peer.random.retain_mut(|source| keep(source.name, guarded(|| random(&mut *source.random))));
    errors
}

/// Starts a peer, or says why it does not.
pub fn start(name: &'static str, make: Start) -> Result<Peer, String> {
    let mut peer = Peer::default();
    let started = guarded(|| {
        peer = Peer { name, ..make() };
        Ok(())
    });
    started.map(|()| peer).map_err(|error| format!("{name}: {error}"))
}

fn chacha20(cipher: &mut dyn ChaCha20) -> Result<(), String> {
    for length in LENGTHS {
        let (mut theirs, mut ours) = (painted(length), painted(length));
        let nonce = nonce(length);
        cipher.xor(&nonce, &mut theirs);
        keyspring::chacha::ChaCha20::from_key(&KEY, &nonce).apply_keystream(&mut ours);
        expect(theirs == ours, "another keystream than ours", length)?;
    }
    Ok(())
}

fn poly1305(mac: &mut dyn Poly1305) -> Result<(), String> {
    for length in LENGTHS {
        let message = painted(length);
        let mut key = KEY;
        key[..12].copy_from_slice(&nonce(length));
        let same = mac.mac(&key, &message) == keyspring::poly1305::mac(&key, &message);
        expect(same, "another tag than ours", length)?;
    }
    Ok(())
}

fn aead(cipher: &mut dyn Aead) -> Result<(), String> {
    let mut key = KEY;
    for length in LENGTHS {
        // Another key each time, so that a key set up too late is noticed.
        key[0] = key[0].wrapping_add(1);
        cipher.set_key(&key);
        let (plaintext, nonce) = (painted(length), nonce(length));
        let (mut theirs, mut ours) = (plaintext.clone(), plaintext.clone());
        let tag = cipher.seal(&nonce, &AAD, &mut theirs);
        let our_tag = keyspring::aead::ChaCha20Poly1305::from_key(&key)
            .seal_in_place(&nonce, &AAD, &mut ours)
            .map_err(|_| "ours refuses to seal")?;
        expect(theirs == ours, "another ciphertext than ours", length)?;
        expect(tag == our_tag, "another tag than ours", length)?;

        let mut forged = tag;
        forged[length % 16] ^= 1;
        let opened = cipher.open(&nonce, &AAD, &mut ours.clone(), &forged);
        expect(!opened, "takes a forged tag", length)?;
        if let Some(at) = length.checked_sub(1) {
            let mut forged = ours.clone();
            forged[at] ^= 0x80;
            let opened = cipher.open(&nonce, &AAD, &mut forged, &tag);
            expect(!opened, "takes a forged ciphertext", length)?;
        }
        let opened = cipher.open(&nonce, b"another", &mut ours.clone(), &tag);
        expect(!opened, "takes other additional data", length)?;

        expect(cipher.open(&nonce, &AAD, &mut ours, &tag), "refuses a genuine message", length)?;
        expect(ours == plaintext, "opens to another plaintext", length)?;
    }
    cipher.set_key(&KEY);
    Ok(())
}

/// No test can show that bytes are random; this one shows that all are written, and anew.
fn random(random: &mut dyn Random) -> Result<(), String> {
    for length in LENGTHS {
        let (mut first, mut second) = (vec![0; length], vec![0; length]);
        random.fill(&mut first);
        random.fill(&mut second);
        // 16 bytes that are all zero, or the same twice, are a defect and no chance. Counted from
        // both ends, they cover every byte.
        let stale = sixteens(&first)
            .zip(sixteens(&second))
            .any(|(first, second)| first == second || first.iter().all(|&byte| byte == 0));
        expect(!stale, "leaves bytes as they were", length)?;
    }
    if random.u64().is_some() {
        expect(random.u64() != random.u64(), "the same integer twice", 8)?;
    }
    Ok(())
}

fn sixteens(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunks_exact(16).chain(bytes.rchunks_exact(16))
}

fn nonce(length: usize) -> [u8; 12] {
    core::array::from_fn(|at| (length >> (8 * (at % 4))) as u8 ^ at as u8)
}

fn expect(holds: bool, error: &str, length: usize) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{error}, at {length} bytes")) }
}

/// Runs a check; a panic, in whichever library, is a failed check like any other.
fn guarded(check: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let verdict = catch_unwind(AssertUnwindSafe(check));
    set_hook(hook);
    verdict.unwrap_or_else(|panic| {
        match panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref().copied()) {
            Some(text) => Err(format!("panics: {text}")),
            None => resume_unwind(panic),
        }
    })
}

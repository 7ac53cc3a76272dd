//! Keys and sealed messages without an operating system's help: no `std`, no allocator, entropy and
//! hooks of one's own. It exits with 0 if all was as it should be.

#![no_std]
#![no_main]

mod system;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use keyspring::aead::ChaCha20Poly1305;
use keyspring::cpu;
use keyspring::crng::{Crng, EntropySource, Error};
use keyspring::section::{self, AEAD_BYTES, Hooks};

/// The system's random numbers. On a board: a hardware generator behind a register.
struct Entropy;

impl EntropySource for Entropy {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        if system::random(dst) { Ok(()) } else { Err(Error::SOURCE) }
    }
}

/// Set where the vector registers are somebody else's: in an interrupt, in a kernel.
static IN_INTERRUPT: AtomicBool = AtomicBool::new(false);

static BEGUN: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicU32 = AtomicU32::new(0);
static RELAXED: AtomicU32 = AtomicU32::new(0);

/// A kernel saves the registers at the beginning, restores them at the end, and lets others run in
/// between. This program counts.
static HOOKS: Hooks = Hooks {
    usable: || !IN_INTERRUPT.load(Relaxed),
    begin: || _ = BEGUN.fetch_add(1, Relaxed),
    end: || _ = ENDED.fetch_add(1, Relaxed),
    relax: || _ = RELAXED.fetch_add(1, Relaxed),
};

type Check = fn() -> bool;

fn main() -> u8 {
    let checks: [(&str, Check); 5] = [
        ("hooks go in once", hooks),
        ("every backend gives the known answers", || cpu::self_test().all(|test| test.passed())),
        ("RFC 8439, section 2.8.2", known_answer),
        ("a message under a new key, with vectors and without", message),
        ("two generators give two keys", generators),
    ];
    for (claim, check) in checks {
        if !check() {
            system::say("NOT so:");
            system::say(claim);
            return 1;
        }
        system::say(claim);
    }
    0
}

fn hooks() -> bool {
    section::install(&HOOKS).is_ok() && section::install(&HOOKS).is_err()
}

fn known_answer() -> bool {
    const MESSAGE: &[u8; 114] = b"Ladies and Gentlemen of the class of '99: If I could offer you \
        only one tip for the future, sunscreen would be it.";
    const AAD: [u8; 12] = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
    const NONCE: [u8; 12] = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
    /// It stands for the ciphertext as well, which it authenticates.
    const TAG: [u8; 16] = [
        0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a, 0x7e, 0x90, 0x2e, 0xcb, 0xd0, 0x60, 0x06,
        0x91,
    ];
    let key = core::array::from_fn(|i| 0x80 + i as u8);
    let mut message = *MESSAGE;
    ChaCha20Poly1305::from_key(&key).seal_in_place(&NONCE, &AAD, &mut message) == Ok(TAG)
}

/// Seals on vectors and opens on scalar code, and the other way round.
fn message() -> bool {
    const LEN: usize = 3 * AEAD_BYTES + 7;
    let Ok(key) = Crng::builder().source(Entropy).build().and_then(|mut crng| crng.try_key())
    else {
        return false;
    };
    let cipher = ChaCha20Poly1305::from_key(key.as_bytes());
    let seal = |in_interrupt| {
        IN_INTERRUPT.store(in_interrupt, Relaxed);
        let mut bytes = [5; LEN];
        let tag = cipher.seal_in_place(&[1; 12], b"aad", &mut bytes);
        tag.map(|tag| (bytes, tag))
    };
    let open = |in_interrupt, (mut bytes, tag): ([u8; LEN], _)| {
        IN_INTERRUPT.store(in_interrupt, Relaxed);
        cipher.open_in_place(&[1; 12], b"aad", &mut bytes, &tag).map(|()| bytes)
    };
    let begun = BEGUN.load(Relaxed);
    let Ok(sealed) = seal(true) else { return false };
    let untouched = BEGUN.load(Relaxed) == begun;
    let alike = seal(false) == Ok(sealed);
    let opened = [true, false].map(|in_interrupt| open(in_interrupt, sealed) == Ok([5; LEN]));
    let [begun, ended, relaxed] = [&BEGUN, &ENDED, &RELAXED].map(|count| count.load(Relaxed));
    untouched && alike && opened == [true; 2] && begun > 0 && begun == ended && relaxed > begun
}

fn generators() -> bool {
    let key = || Crng::builder().source(Entropy).build()?.try_key::<32>();
    matches!((key(), key()), (Ok(one), Ok(other)) if one != other)
}

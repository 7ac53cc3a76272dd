//! Random keys and sealed messages: a ChaCha20 CRNG and a ChaCha20-Poly1305 AEAD on one
//! runtime-dispatched core.
//!
//! | you want | you take |
//! |---|---|
//! | a key, random bytes, a random number | the functions of [`crng`] |
//! | a generator for a bound of `rand_core` | `crng::thread` |
//! | a generator of your own, on an entropy source of your own | [`crng::Crng`] |
//! | a reproducible random stream, for simulations and tests | [`crng::SeededCrng`] |
//! | to seal with a nonce that you count | [`aead::ChaCha20Poly1305`] |
//! | to seal with nonces that are counted for you | [`aead::Sealer`], [`aead::Opener`] |
//! | to seal with nonces that are drawn at random | [`aead::XChaCha20Poly1305`] |
//! | to seal many packets at once | [`seal_batch`](aead::ChaCha20Poly1305::seal_batch), [`aead::seal_batch_keyed`] |
//! | to let others run meanwhile, or cancel | [`aead::Sealing`], [`aead::Opening`], `crng::fill_with` |
//! | a bare keystream or one-time authenticator, for a protocol of your own | [`chacha`], [`poly1305`] |
//! | to know which backends run here | [`cpu::report`] |
//! | hooks around vector code, in a kernel | [`section`] |
//!
//! ```
//! # #[cfg(all(feature = "std", feature = "getrandom"))] {
//! use keyspring::aead::ChaCha20Poly1305;
//! use keyspring::crng;
//!
//! // A session key of 256 bytes, never the same in two threads or two forked processes.
//! let session = crng::session_key();
//! assert_eq!(session.as_bytes().len(), 256);
//!
//! // A message sealed under a fresh key.
//! let cipher = ChaCha20Poly1305::from_key(crng::key().as_bytes());
//! let mut message = *b"attack at dawn";
//! let tag = cipher.seal_in_place(&[0; 12], b"", &mut message)?;
//! cipher.open_in_place(&[0; 12], b"", &mut message, &tag)?;
//! assert_eq!(&message, b"attack at dawn");
//! # }
//! # Ok::<(), keyspring::aead::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `std` | yes | the free functions of [`crng`] (with `getrandom`), fork detection |
//! | `alloc` | with `std` | functions that return a `Vec` |
//! | `getrandom` | yes | the operating system as the source of entropy |
//! | `rand_core` | yes | the traits of `rand_core` 0.10 |
//! | `rand_core_09` | no | the traits of `rand_core` 0.9 |
//! | `rand_core_06` | no | the traits of `rand_core` 0.6 |
//! | `aead` | yes | the traits of `aead` 0.6 |
//! | `aead_05` | no | the traits of `aead` 0.5 |
//! | `cipher` | no | the traits of `cipher` 0.5 |
//! | `universal-hash` | no | the traits of `universal-hash` 0.6 |
//! | `hooks` | no | `section::install`: hooks around every vector section, for kernels |
//! | `section-stats` | no | `section::stats`: how long sections take |
//! | `force-backend` | no | for tests and benches alone: `cpu::force` |
//!
//! Without any of them the crate is `no_std` and allocates nothing; [`crng::Crng`] then takes an
//! entropy source of your own.
//!
//! # Security
//!
//! - Nonces: the same one twice under one key gives away the xor of both messages and lets anyone
//!   forge. Count them, or have [`aead::Sealer`] count them; draw at random only the 24 bytes of
//!   [`aead::XChaCha20Poly1305`].
//! - Limits: 2^38 - 64 bytes a message, 2^64 - 1 messages of a [`aead::Sealer`]; an [`aead::Opener`]
//!   refuses everything after 2^36 forgeries. They are errors, before a byte is written.
//! - Verify first: of a message that is refused, no byte is decrypted.
//! - Erased are keys, one-time keys and keystream when they are dropped or used up, and in a generator
//!   every byte as it is handed out. Not erased are bytes that you were given, places that a value was
//!   moved from, and what the compiler left in registers or spilled to the stack.
//! - Constant time: nothing branches or indexes on a key, a keystream or a message, and tags are
//!   compared so.
//! - Not promised: commitment to the key (a ciphertext can be made that opens under two), and other
//!   bytes in clones of a machine, unless `crng::on_restore` is called there.
//!
//! What each module promises, and what not, stands at its head and in `SECURITY.md`.
//!
//! # Moving over
//!
//! From `chacha20poly1305`, one line: `use keyspring::aead as chacha20poly1305;`. The traits of `aead`
//! 0.6, and of 0.5 with that feature, are the same ones; inherent methods on plain arrays stand beside
//! them.
//!
//! From `ring` (`aead`, `rand`); the tag is returned apart or appended, and there is no key to bind a
//! nonce sequence to:
//!
//! | ring | here |
//! |---|---|
//! | `LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key)?)` | `ChaCha20Poly1305::from_key(&key)` |
//! | `seal_in_place_separate_tag(nonce, Aad::from(aad), &mut message)` | `seal_in_place(&nonce, aad, &mut message)` |
//! | `open_in_place(nonce, Aad::from(aad), &mut sealed)`, tag at its end | `open_in_place(&nonce, aad, &mut message, &tag)`, or `open_into` |
//! | `SealingKey` and a `NonceSequence` of yours | [`aead::Sealer`], which numbers from 0 |
//! | `SystemRandom::new().fill(&mut bytes)` | `crng::try_fill(&mut bytes)` |
//!
//! From `rand` and `getrandom`:
//!
//! | there | here |
//! |---|---|
//! | `getrandom::fill(&mut bytes)` | `crng::try_fill(&mut bytes)` |
//! | `rand::fill(&mut bytes)` | `crng::fill(&mut bytes)` |
//! | `rand::random::<u64>()`, `rand::random::<[u8; 32]>()` | `crng::u64()`, `crng::bytes::<32>()` |
//! | `rand::random_range(1..=6)` | `crng::range(1..=6)` |
//! | `rand::rng()`, wherever a generator is asked for | `crng::thread()` |
//! | `slice.shuffle(&mut rng)` | `crng::shuffle(slice)` |
//! | `StdRng::from_seed(seed)`, whose stream may change | `crng::SeededCrng::from_seed(seed)`, whose stream never does |
//!
//! ```
//! # #[cfg(all(feature = "std", feature = "getrandom"))] {
//! use keyspring::aead::{ChaCha20Poly1305, NonceSequence, Sealer};
//! use keyspring::crng;
//!
//! let mut salt = [0; 16];
//! crng::try_fill(&mut salt)?;
//! let roll: u8 = crng::range(1..=6);
//! let mut deck = [1, 2, 3];
//! crng::shuffle(&mut deck);
//!
//! let cipher = ChaCha20Poly1305::from_key(&crng::bytes());
//! let sealed = cipher.seal(&[0; 12], b"aad", b"message").expect("it is short enough");
//! let mut sealer = Sealer::new(&crng::bytes(), NonceSequence::XorBigEndian(crng::bytes()));
//! let (number, tag) = sealer.seal_next(b"aad", &mut [0; 5]).expect("it is short enough");
//! # }
//! # Ok::<(), keyspring::crng::Error>(())
//! ```

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod aead;
pub mod chacha;
pub mod cpu;
pub mod crng;
mod fork;
pub mod poly1305;
mod report;
pub mod section;

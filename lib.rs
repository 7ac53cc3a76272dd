//! Random keys and sealed messages: a ChaCha20 CRNG and a ChaCha20-Poly1305 AEAD on one
//! runtime-dispatched core.
//!
//! | you want | you take |
//! |---|---|
//! | a key, random bytes, a random number | [`crng`] |
//! | to seal messages and open them | [`aead`] |
//! | a reproducible random stream, for simulations and tests | [`crng::SeededCrng`] |
//! | a bare keystream or one-time authenticator, for a protocol of your own | [`chacha`], [`poly1305`] |
//! | to know which backends run here | [`cpu::report`] |
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
//! Secrets are wiped when they are dropped, nothing branches or indexes on a key, a keystream or a
//! message, and tags are compared in constant time. What each module promises, and what not, stands at its head and in
//! `SECURITY.md`.

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

//! The CRNG: random bytes, keys and numbers from the operating system's entropy and ChaCha20.
//!
//! The free functions are for every program: [`fill`], [`session_key`], [`key`], [`bytes`], the
//! integers, [`below`], [`range`], [`shuffle`]; [`thread`] gives the same as a generator of the
//! `rand_core` traits. [`Crng`] is a generator that you own, [`SeededCrng`] one that repeats its
//! stream.
//!
//! # Security
//!
//! The free functions work in [`Mode::Direct`]: nothing is kept between two calls, so there is
//! nothing that a fork or a clone of the machine could copy and nothing to erase.
//!
//! - Up to 64 bytes come from the operating system as they are.
//! - More are ChaCha20 keystream under a key of 32 bytes from the operating system, used for this
//!   call alone and wiped. If the process was forked meanwhile, the call starts again.
//!
//! Promised: output that can't be told from uniform if the operating system's source and ChaCha20
//! hold; no two calls, threads or processes with the same bytes; no weak bytes, ever: without
//! entropy a call fails or panics. Not promised: erasure of bytes that you were given, and of
//! places that a [`SessionKey`] was moved from. It follows the shape of DRG.3 and is not certified.

mod error;
mod generator;
mod owned;
mod seed;
mod seeded;
mod session_key;
#[cfg(feature = "rand_core")]
mod traits;
mod uniform;

#[cfg(all(feature = "std", feature = "getrandom"))]
mod free;

pub use self::error::Error;
#[cfg(all(feature = "std", feature = "getrandom"))]
pub use self::free::{
    Mode, ThreadCrng, below, bool, bytes, fill, fill_keys, fill_uninit, key, keys, mode, range,
    session_key, shuffle, thread, try_fill, u8, u16, u32, u64, u128,
};
pub use self::owned::{Builder, Crng, Policy};
pub use self::seed::{EntropySource, SystemEntropy};
pub use self::seeded::SeededCrng;
pub use self::session_key::{SessionKey, Split};
pub use self::uniform::Uniform;

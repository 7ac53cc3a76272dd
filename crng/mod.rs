//! The CRNG: random bytes, keys and numbers from the operating system's entropy and ChaCha20.
//!
//! The free functions are for every program: [`fill`], [`session_key`], [`key`], [`bytes`], the
//! integers, [`below`], [`range`], [`shuffle`]; [`thread`] gives the same as a generator of the
//! `rand_core` traits. [`Crng`] is a generator that you own, [`SeededCrng`] one that repeats its
//! stream.
//!
//! # Security
//!
//! Each thread has a generator of its own. Where the kernel has memory that a fork wipes, it makes
//! output ahead; elsewhere each call asks the operating system. [`mode`] says which it is.
//!
//! Promised: output that can't be told from uniform if the operating system's source and ChaCha20
//! hold; no bytes twice, in threads and in processes however they were forked (on Linux 4.14 and
//! later in a call that a fork interrupts, too); no earlier output can be computed from what the generator holds; new entropy after
//! 60 seconds (keys) or 1 MiB; no weak bytes, ever: without entropy a first call fails or panics.
//! Calls may be made in signal handlers, destructors of thread-locals, `atexit` handlers and panic
//! hooks; a handler's should not be its thread's first, see [`warm_up`].
//!
//! Not promised: erasure of bytes that you were given, of places that a [`SessionKey`] was moved from,
//! and, in builds for size (`opt-level` "s" and "z"), of what kernels leave deep in the stack; other
//! bytes in the clone of a virtual machine for the rest of a buffer (at most 3936 bytes), unless
//! [`on_restore`] is called there; `clone(CLONE_VM)` without thread-local storage of its own. It follows
//! the shape of DRG.3 and is not certified.
#![doc = include_str!("DESIGN.md")]

mod direct;
mod error;
mod generator;
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64", target_arch = "x86_64"))]
mod hardware;
mod health;
mod owned;
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
mod page;
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
mod paged;
#[cfg(any(test, not(all(feature = "std", target_os = "linux", target_has_atomic = "64"))))]
mod plain;
mod seed;
mod seeded;
mod session_key;
#[cfg(feature = "rand_core")]
mod traits;
#[cfg(feature = "rand_core_06")]
mod traits_06;
#[cfg(feature = "rand_core_09")]
mod traits_09;
mod uniform;

#[cfg(all(feature = "std", feature = "getrandom"))]
mod control;
#[cfg(all(feature = "std", feature = "getrandom"))]
mod free;
#[cfg(all(feature = "std", feature = "getrandom", target_os = "linux", target_has_atomic = "64"))]
mod thread;

#[cfg(all(feature = "std", feature = "getrandom"))]
pub use self::control::{add_entropy, health, mode, on_restore, reseed, reseed_all, warm_up};
pub use self::error::Error;
#[cfg(all(feature = "std", feature = "getrandom"))]
pub use self::free::{
    ThreadCrng, below, bool, bytes, fill, fill_keys, fill_uninit, fill_with, key, keys, range,
    session_key, shuffle, thread, try_fill, try_key, u8, u16, u32, u64, u128,
};
pub use self::health::{Health, Mode};
pub use self::owned::{Builder, Crng, Policy};
pub use self::seed::{EntropySource, SystemEntropy};
pub use self::seeded::SeededCrng;
pub use self::session_key::{SessionKey, Split};
pub use self::uniform::Uniform;

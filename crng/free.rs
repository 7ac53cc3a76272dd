//! The free functions: what is drawn by every thread of a program.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::RangeBounds;
use std::vec::Vec;

use zeroize::Zeroize;

use super::uniform::{self, Uniform, Words};
use super::{EntropySource, Error, SessionKey, SystemEntropy, seed};
use crate::chacha::data::Keystream;
use crate::chacha::{Core, State};
use crate::fork::{self, Stamp};

/// How the free functions keep two processes from the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing is kept between two calls: each asks the operating system.
    Direct,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Direct => "direct",
        })
    }
}

/// Up to this many bytes the operating system's are handed out as they are: one call of it is the
/// greater part of the cost, and one block of ChaCha20 would only add to it.
const AS_THEY_ARE: usize = 64;

/// How often an expansion starts again because the process was forked in the middle of it.
const TRIES: usize = 3;

/// The most bytes under one key.
const KEY_BYTES: usize = 1 << 16;

/// The mode that the free functions work in.
#[must_use]
pub fn mode() -> Mode {
    Mode::Direct
}

/// Writes random bytes over the whole of `dst`.
///
/// # Panics
///
/// If the operating system gives no entropy. Weak bytes are never returned.
///
/// # Examples
///
/// ```
/// let mut bytes = [0; 32];
/// keyspring::crng::fill(&mut bytes);
/// assert_ne!(bytes, [0; 32]);
/// ```
#[track_caller]
pub fn fill(dst: &mut [u8]) {
    if let Err(error) = try_fill(dst) {
        panic!("no random bytes: {error}");
    }
}

/// Writes random bytes over the whole of `dst`.
///
/// # Errors
///
/// [`Error`] if the operating system gives no entropy; `dst` is all zero then.
pub fn try_fill(dst: &mut [u8]) -> Result<(), Error> {
    let filled = if dst.len() <= AS_THEY_ARE { SystemEntropy.fill(dst) } else { expand(dst) };
    if filled.is_err() {
        dst.zeroize();
    }
    filled
}

/// Keystream under a key that exists for this call alone.
fn expand(dst: &mut [u8]) -> Result<(), Error> {
    for _ in 0..TRIES {
        let stamp = fork::stamp();
        if stamp == Stamp::Unknown {
            break;
        }
        let mut key = seed::draw(&mut SystemEntropy)?;
        expand_key(&mut key, dst);
        // A fork while the key existed leaves two processes here with the same bytes; the child's
        // stamp is another, and it starts again.
        if fork::stamp() == stamp {
            return Ok(());
        }
    }
    SystemEntropy.fill(dst)
}

/// Fills `dst` from `key`, which is wiped; every 64 KiB the key is replaced by 32 bytes of the
/// keystream that nobody sees.
fn expand_key(key: &mut [u8; 32], dst: &mut [u8]) {
    let core = Core::new();
    let mut next = [0; 64];
    for chunk in dst.chunks_mut(KEY_BYTES) {
        let state = State::with_nonce_96(key, &[0; 12], 0, 10);
        core.run(&state, 0, Some(&mut next), Keystream(chunk));
        key.copy_from_slice(&next[..32]);
    }
    next.as_mut_slice().zeroize();
    key.as_mut_slice().zeroize();
}

/// Writes random bytes over the whole of `dst`, which need not hold anything yet, and returns it.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// use core::mem::MaybeUninit;
///
/// let mut place = [MaybeUninit::uninit(); 32];
/// let bytes: &mut [u8] = keyspring::crng::fill_uninit(&mut place);
/// assert_eq!(bytes.len(), 32);
/// ```
#[track_caller]
pub fn fill_uninit(dst: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    dst.fill(MaybeUninit::new(0));
    // SAFETY: every byte was written the line above, and `MaybeUninit<u8>` lies as `u8` does.
    let dst = unsafe { &mut *(core::ptr::from_mut(dst) as *mut [u8]) };
    fill(dst);
    dst
}

/// Mints a session key of 256 bytes.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let key = keyspring::crng::session_key();
/// assert_ne!(key, keyspring::crng::session_key());
/// ```
#[must_use]
#[track_caller]
pub fn session_key() -> SessionKey {
    key()
}

/// Mints a key of `N` bytes.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let cipher = keyspring::aead::ChaCha20Poly1305::from_key(keyspring::crng::key().as_bytes());
/// ```
#[must_use]
#[track_caller]
pub fn key<const N: usize>() -> SessionKey<N> {
    let mut key = SessionKey::zeroed();
    fill(key.as_mut_bytes());
    key
}

/// Mints keys in place, over whatever they were before.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// use keyspring::crng::{SessionKey, fill_keys};
///
/// let mut keys = [const { SessionKey::<32>::zeroed() }; 4];
/// fill_keys(&mut keys);
/// assert_ne!(keys[0], keys[1]);
/// ```
#[track_caller]
pub fn fill_keys<const N: usize>(keys: &mut [SessionKey<N>]) {
    for key in keys {
        fill(key.as_mut_bytes());
    }
}

/// Mints `count` keys, each where it stays.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let keys = keyspring::crng::keys::<32>(3);
/// assert_eq!(keys.len(), 3);
/// ```
#[must_use]
#[track_caller]
pub fn keys<const N: usize>(count: usize) -> Vec<SessionKey<N>> {
    let mut keys: Vec<_> = core::iter::repeat_with(SessionKey::zeroed).take(count).collect();
    fill_keys(&mut keys);
    keys
}

/// `N` random bytes.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let nonce: [u8; 24] = keyspring::crng::bytes();
/// ```
#[must_use]
#[track_caller]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

macro_rules! integers {
    ($($int:ident)*) => {$(
        #[doc = concat!("A random `", stringify!($int), "`, each with the same probability.")]
        ///
        /// # Panics
        ///
        /// If the operating system gives no entropy.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("let number = keyspring::crng::", stringify!($int), "();")]
        /// ```
        #[must_use]
        #[track_caller]
        pub fn $int() -> $int {
            $int::from_ne_bytes(bytes())
        }
    )*};
}

integers!(u8 u16 u32 u64 u128);

/// A random truth value.
///
/// # Panics
///
/// If the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let heads = keyspring::crng::bool();
/// ```
#[must_use]
#[track_caller]
pub fn bool() -> bool {
    u8() & 1 == 1
}

/// The operating system's bytes as random words.
struct Direct;

impl Words for Direct {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        bytes()
    }
}

/// A number below `bound`, each with exactly the same probability.
///
/// # Panics
///
/// If `bound` is 0, or the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// assert!(keyspring::crng::below(10) < 10);
/// ```
#[must_use]
#[track_caller]
pub fn below(bound: u64) -> u64 {
    uniform::below(&mut Direct, bound)
}

/// A number in `range`, each with exactly the same probability.
///
/// # Panics
///
/// If the range is empty, or the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// use keyspring::crng;
///
/// let roll = crng::range(1..=6);
/// assert!((1..=6).contains(&roll));
/// let any: i64 = crng::range(..);
/// ```
#[must_use]
#[track_caller]
pub fn range<T: Uniform>(range: impl RangeBounds<T>) -> T {
    uniform::range(&mut Direct, range)
}

/// Brings `slice` into an order drawn from all with exactly the same probability (Fisher and Yates,
/// 1938).
///
/// # Panics
///
/// If the operating system gives no entropy; the slice is in another order then, but complete.
///
/// # Examples
///
/// ```
/// let mut deck: Vec<u8> = (0..52).collect();
/// keyspring::crng::shuffle(&mut deck);
/// deck.sort();
/// assert!(deck.into_iter().eq(0..52));
/// ```
#[track_caller]
pub fn shuffle<T>(slice: &mut [T]) {
    uniform::shuffle(&mut Direct, slice);
}

/// The free functions as a generator of the `rand_core` traits, by [`thread`].
#[derive(Clone, Copy, Debug)]
pub struct ThreadCrng {
    /// Buffered modes keep a state for each thread, so the handle must not leave its own.
    not_send: core::marker::PhantomData<*const ()>,
}

/// A handle on this thread's generator.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "rand_core")] {
/// fn roll(rng: &mut impl rand_core::CryptoRng) -> u32 {
///     rng.next_u32() % 6 + 1
/// }
///
/// assert!(roll(&mut keyspring::crng::thread()) <= 6);
/// # }
/// ```
#[must_use]
pub fn thread() -> ThreadCrng {
    ThreadCrng { not_send: core::marker::PhantomData }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_filled_to_its_last_byte() {
        for len in (0..=300).chain([4095, 4096, 4097, KEY_BYTES + 1, 3 * KEY_BYTES + 7]) {
            // A last byte of zero has a chance of 1 in 256; that all 32 tries have it, of 2^-256.
            let mut dst = std::vec![0; len];
            let reached = (0..32).any(|_| {
                fill(&mut dst);
                dst.last().is_none_or(|byte| *byte != 0)
            });
            assert!(reached, "length {len}");
        }
    }

    #[test]
    fn each_stretch_of_64_kib_has_a_key_of_its_own() {
        let mut key = [7; 32];
        let mut dst = std::vec![0; 2 * KEY_BYTES];
        expand_key(&mut key, &mut dst);
        assert_eq!(key, [0; 32]);
        let first = crate::chacha::block(&[7; 32], 0, &[0; 12]);
        let second_key = first.first_chunk().unwrap();
        assert_eq!(dst[..64], crate::chacha::block(&[7; 32], 1, &[0; 12]));
        assert_eq!(dst[KEY_BYTES..][..64], crate::chacha::block(second_key, 1, &[0; 12]));
    }
}

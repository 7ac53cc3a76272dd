//! The free functions: what is drawn by every thread of a program.

use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::ops::{ControlFlow, RangeBounds};
use std::vec::Vec;

use zeroize::Zeroize;

use super::control::local;
use super::uniform::{self, Uniform, Words};
use super::{Error, SessionKey};
use crate::fork;
use crate::section::CHACHA20_BYTES;

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
#[inline]
#[track_caller]
pub fn fill(dst: &mut [u8]) {
    if let Err(error) = local::fill(dst) {
        no_entropy(error);
    }
}

#[cold]
#[track_caller]
fn no_entropy(error: Error) -> ! {
    panic!("no random bytes: {error}");
}

/// Writes random bytes over the whole of `dst`.
///
/// # Errors
///
/// [`Error`] if the operating system gives no entropy; `dst` is all zero then.
///
/// # Examples
///
/// ```
/// let mut bytes = [0; 32];
/// keyspring::crng::try_fill(&mut bytes)?;
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
#[inline]
pub fn try_fill(dst: &mut [u8]) -> Result<(), Error> {
    local::fill(dst)
}

/// Writes random bytes over the whole of `dst` and calls `checkpoint` between sections, with the
/// bytes that are done: to show progress, to let others run, to stop. If `checkpoint` breaks or
/// panics, `dst` is all zero; the value is how far it had come.
///
/// A process that was forked in a checkpoint starts again from the first byte, where a fork can be
/// noticed (see [`crate::crng`]).
///
/// # Panics
///
/// If the operating system gives no entropy; `dst` is all zero then.
///
/// # Examples
///
/// ```
/// use core::ops::ControlFlow;
///
/// let mut bytes = vec![0; 100_000];
/// let filled = keyspring::crng::fill_with(&mut bytes, |_| ControlFlow::Continue(()));
/// assert_eq!(filled, ControlFlow::Continue(()));
///
/// let filled = keyspring::crng::fill_with(&mut bytes, |_| ControlFlow::Break(()));
/// assert!(matches!(filled, ControlFlow::Break(1..)));
/// assert_eq!(bytes, vec![0; 100_000]);
/// ```
#[track_caller]
pub fn fill_with(
    dst: &mut [u8],
    mut checkpoint: impl FnMut(usize) -> ControlFlow<()>,
) -> ControlFlow<usize> {
    let mut filling = Filling { dst, whole: false };
    loop {
        let stamp = fork::stamp();
        let len = filling.dst.len();
        let mut done = 0;
        for part in filling.dst.chunks_mut(PART) {
            fill(part);
            done += part.len();
            if done < len && checkpoint(done).is_break() {
                return ControlFlow::Break(done);
            }
        }
        if fork::stamp() == stamp {
            filling.whole = true;
            return ControlFlow::Continue(());
        }
    }
}

/// One section, less the block that makes the next key.
const PART: usize = CHACHA20_BYTES - 64;

/// Wipes on drop what was not filled to the end.
struct Filling<'a> {
    dst: &'a mut [u8],
    whole: bool,
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if !self.whole {
            self.dst.zeroize();
        }
    }
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
#[inline]
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
#[inline]
#[track_caller]
pub fn key<const N: usize>() -> SessionKey<N> {
    let mut key = SessionKey::zeroed();
    if let Err(error) = local::fill_array(key.as_mut_bytes(), true) {
        no_entropy(error);
    }
    key
}

/// Mints a key of `N` bytes.
///
/// # Errors
///
/// [`Error`] if the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let session = keyspring::crng::try_key::<256>()?;
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
#[inline]
pub fn try_key<const N: usize>() -> Result<SessionKey<N>, Error> {
    let mut key = SessionKey::zeroed();
    local::fill_array(key.as_mut_bytes(), true)?;
    Ok(key)
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
    if let Err(error) = local::fill_keys(SessionKey::as_mut_bytes_of_all(keys)) {
        no_entropy(error);
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
#[inline]
#[track_caller]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Err(error) = local::fill_array(&mut bytes, false) {
        no_entropy(error);
    }
    bytes
}

/// A few bytes, in registers.
#[inline(always)]
#[track_caller]
fn word<const N: usize>() -> [u8; N] {
    local::word().unwrap_or_else(word_slowly)
}

#[cold]
#[inline(never)]
#[track_caller]
fn word_slowly<const N: usize>() -> [u8; N] {
    bytes()
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
        #[inline]
        #[track_caller]
        pub fn $int() -> $int {
            $int::from_ne_bytes(word())
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
#[inline]
#[track_caller]
pub fn bool() -> bool {
    u8() & 1 == 1
}

/// This thread's bytes as random words.
struct Local;

impl Words for Local {
    type Error = Infallible;

    #[inline(always)]
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Infallible> {
        Ok(word())
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
#[inline]
#[track_caller]
pub fn below(bound: u64) -> u64 {
    let Ok(number) = uniform::below(&mut Local, bound);
    number
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
#[inline]
#[track_caller]
pub fn range<T: Uniform>(range: impl RangeBounds<T>) -> T {
    let Ok(number) = uniform::range(&mut Local, range);
    number
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
    let Ok(()) = uniform::shuffle(&mut Local, slice);
}

/// The free functions as a generator of the `rand_core` traits, by [`thread`].
///
/// # Examples
///
/// ```
/// use rand_core::Rng;
///
/// let number = keyspring::crng::thread().next_u64();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ThreadCrng {
    /// Each thread has a generator of its own, and the handle must not leave it.
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
#[inline]
pub fn thread() -> ThreadCrng {
    ThreadCrng { not_send: core::marker::PhantomData }
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::vec;

    use super::*;

    #[test]
    fn a_fill_with_checkpoints_reaches_every_part_and_tells_of_each() {
        for len in [0, 1, PART, PART + 1, 5 * PART + 7] {
            let mut dst = vec![0; len];
            let mut seen = vec![];
            let filled = fill_with(&mut dst, |done| {
                seen.push(done);
                ControlFlow::Continue(())
            });
            assert_eq!(filled, ControlFlow::Continue(()), "length {len}");
            let parts = (1..len.div_ceil(PART)).map(|part| part * PART);
            assert!(seen.iter().copied().eq(parts), "length {len}: {seen:?}");
            // 32 zeros in a row have a chance of 2^-256.
            assert!(dst.chunks_exact(32).all(|bytes| bytes != [0; 32]), "length {len}");
        }
    }

    #[test]
    fn a_broken_fill_is_wiped() {
        let mut dst = vec![1; 5 * PART];
        let stop_at = |end| {
            move |done| if done == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        for part in 1..5 {
            let filled = fill_with(&mut dst, stop_at(part * PART));
            assert_eq!(filled, ControlFlow::Break(part * PART));
            assert!(dst.iter().all(|byte| *byte == 0), "part {part}");
        }
    }

    #[test]
    fn a_checkpoint_that_panics_leaves_zeros() {
        let mut dst = vec![1; 5 * PART];
        let call = AssertUnwindSafe(|| fill_with(&mut dst, |_| panic!("in the checkpoint")));
        assert!(std::panic::catch_unwind(call).is_err());
        assert!(dst.iter().all(|byte| *byte == 0));
    }
}

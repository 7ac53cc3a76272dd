//! A generator that you own, over an entropy source of your choice.

use core::fmt;

use core::ops::RangeBounds;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::direct::{expand, fill_by};
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
use super::paged::Memory;
#[cfg(not(all(feature = "std", target_os = "linux", target_has_atomic = "64")))]
use super::plain::Memory;
use super::seed::{draw, extract};
use super::uniform::{self, Uniform, Words};
use super::{EntropySource, Error, Health, SessionKey, SystemEntropy};

/// What heads the input of the extractor, before the personalization's hash.
const LABEL: [u8; 32] = *b"keyspring/v1/crng\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// How much a generator may keep between two calls.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "getrandom")] {
/// use keyspring::crng::{Crng, Policy};
///
/// let rng = Crng::builder().policy(Policy::Strict).build()?;
/// # }
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Output is made ahead. New entropy is drawn after 1 MiB, and on Linux after 60 seconds; if the
    /// source fails then, output goes on from the erased key and the source is asked again. A forked
    /// process draws entropy of its own, and its first call fails if the source does.
    #[default]
    Standard,
    /// New entropy is drawn for every call, and its failure is the call's.
    Strict,
}

/// A cryptographically secure generator with a state of its own: fast key erasure over ChaCha20.
///
/// # Security
///
/// It is not `Clone`, since two copies would give the same bytes. With `std` on Linux, its state lies
/// in a page of its own that the kernel wipes in a forked child, which draws entropy of its own; where
/// it can't, and on other platforms that have a fork, every call draws new entropy. Without `std`
/// nothing is noticed: the owner must see to it that the state is never copied, by a fork, a snapshot
/// or a clone of the machine, or take [`Policy::Strict`].
///
/// A source that panics leaves it unseeded, and the next call asks again. The state of the source
/// itself is the owner's to care for: a fork copies it.
///
/// # Examples
///
/// ```
/// # #[cfg(all(feature = "std", feature = "getrandom"))] {
/// use keyspring::crng::Crng;
///
/// let mut rng = Crng::builder().personalization(b"token service").build()?;
/// let mut bytes = [0; 32];
/// rng.try_fill(&mut bytes)?;
/// # }
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
pub struct Crng<E = SystemEntropy> {
    source: E,
    policy: Policy,
    /// What heads the input of the extractor: [`LABEL`] and the personalization's hash.
    label: [u8; 64],
    memory: Memory,
}

impl Crng {
    /// A generator over the operating system's entropy.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is none.
    #[cfg(feature = "getrandom")]
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Starts to build a generator over the operating system's entropy, unless
    /// [`Builder::source`] names another.
    #[must_use]
    pub const fn builder() -> Builder {
        Builder { source: SystemEntropy, policy: Policy::Standard, personalization: [0; 32] }
    }
}

impl<E: EntropySource> Crng<E> {
    /// Writes random bytes over the whole of `dst`.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails; `dst` is all zero then.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut bytes = [0; 100];
    /// keyspring::crng::Crng::new()?.try_fill(&mut bytes)?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[inline]
    pub fn try_fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        let kept = match self.policy {
            Policy::Standard => self.memory.fill(&mut self.source, &self.label, dst),
            Policy::Strict => None,
        };
        kept.unwrap_or_else(|| self.fill_directly(dst))
    }

    /// Mints a key.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// assert_ne!(rng.try_key::<32>()?, rng.try_key::<32>()?);
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    pub fn try_key<const N: usize>(&mut self) -> Result<SessionKey<N>, Error> {
        let mut key = SessionKey::zeroed();
        self.try_fill(key.as_mut_bytes())?;
        Ok(key)
    }

    /// Mints keys in place, over whatever they were before.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails; the keys are all zero then.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// use keyspring::crng::{Crng, SessionKey};
    ///
    /// let mut keys = [const { SessionKey::<32>::zeroed() }; 4];
    /// Crng::new()?.try_fill_keys(&mut keys)?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    pub fn try_fill_keys<const N: usize>(
        &mut self,
        keys: &mut [SessionKey<N>],
    ) -> Result<(), Error> {
        self.try_fill(SessionKey::as_mut_bytes_of_all(keys))
    }

    /// `N` random bytes.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let salt: [u8; 16] = keyspring::crng::Crng::new()?.try_bytes()?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[inline]
    pub fn try_bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.try_fill(&mut bytes)?;
        Ok(bytes)
    }

    /// A random truth value.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails.
    pub fn try_bool(&mut self) -> Result<bool, Error> {
        Ok(self.try_u8()? & 1 == 1)
    }

    /// A number below `bound`, each with exactly the same probability.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails.
    ///
    /// # Panics
    ///
    /// If `bound` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// assert!(keyspring::crng::Crng::new()?.try_below(6)? < 6);
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    pub fn try_below(&mut self, bound: u64) -> Result<u64, Error> {
        uniform::below(self, bound)
    }

    /// A number in `range`, each with exactly the same probability.
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let roll: u8 = keyspring::crng::Crng::new()?.try_range(1..=6)?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    pub fn try_range<T: Uniform>(&mut self, range: impl RangeBounds<T>) -> Result<T, Error> {
        uniform::range(self, range)
    }

    /// Brings `slice` into an order drawn from all with exactly the same probability (Fisher and
    /// Yates, 1938).
    ///
    /// # Errors
    ///
    /// [`Error`] if entropy is needed and the source fails; the slice is in another order then, but
    /// complete.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut cards = [1, 2, 3, 4];
    /// keyspring::crng::Crng::new()?.try_shuffle(&mut cards)?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    pub fn try_shuffle<T>(&mut self, slice: &mut [T]) -> Result<(), Error> {
        uniform::shuffle(self, slice)
    }

    /// Draws new entropy now.
    ///
    /// # Errors
    ///
    /// [`Error`] if the source fails; what has been seeded before goes on.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// rng.reseed()?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    pub fn reseed(&mut self) -> Result<(), Error> {
        let kept = match self.policy {
            Policy::Standard => self.memory.reseed(&mut self.source, &self.label),
            Policy::Strict => None,
        };
        kept.unwrap_or_else(|| draw(&mut self.source).map(|mut bytes| bytes.zeroize()))
    }

    /// Keeps nothing between two calls.
    #[cold]
    fn fill_directly(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        fill_by(dst, |dst| {
            let mut entropy = draw(&mut self.source)?;
            expand(&mut extract(&[0; 32], &[&self.label, &entropy]), dst, || true);
            entropy.as_mut_slice().zeroize();
            Ok(())
        })
    }
}

macro_rules! integers {
    ($($name:ident $int:ident)*) => {
        impl<E: EntropySource> Crng<E> {$(
            #[doc = concat!("A random `", stringify!($int), "`, each with the same probability.")]
            ///
            /// # Errors
            ///
            /// [`Error`] if entropy is needed and the source fails.
            #[inline]
            pub fn $name(&mut self) -> Result<$int, Error> {
                self.try_bytes().map($int::from_le_bytes)
            }
        )*}
    };
}

integers!(try_u8 u8 try_u16 u16 try_u32 u32 try_u64 u64 try_u128 u128);

impl<E: EntropySource> Words for Crng<E> {
    type Error = Error;

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.try_bytes()
    }
}

impl<E> Crng<E> {
    /// How this generator has fared. Under [`Policy::Strict`] there is nothing to tell.
    #[must_use]
    pub fn health(&self) -> Health {
        self.memory.health
    }
}

impl<E> fmt::Debug for Crng<E> {
    /// Shows the policy alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crng").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// If its source is, too: that may hold a seed of its own.
impl<E: ZeroizeOnDrop> ZeroizeOnDrop for Crng<E> {}

/// What a [`Crng`] is made of.
///
/// # Examples
///
/// ```
/// use keyspring::crng::{Crng, EntropySource, Error};
///
/// struct Trng;
///
/// impl EntropySource for Trng {
///     fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
/// #       for (i, byte) in dst.iter_mut().enumerate() { *byte = i as u8; }
/// #       /*
///         // read the hardware
/// #       */
///         Ok(())
///     }
/// }
///
/// let mut rng = Crng::builder().source(Trng).build()?;
/// let key = rng.try_key::<32>()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder<E = SystemEntropy> {
    source: E,
    policy: Policy,
    personalization: [u8; 32],
}

impl<E> Builder<E> {
    /// Takes entropy from `source`.
    #[must_use]
    pub fn source<S: EntropySource>(self, source: S) -> Builder<S> {
        Builder { source, policy: self.policy, personalization: self.personalization }
    }

    /// Mixes bytes of any length into every seed, so that generators with different ones give
    /// unrelated output even if their sources gave the same. It need not be secret.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::builder().personalization(b"token service").build()?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[must_use]
    pub fn personalization(mut self, bytes: &[u8]) -> Self {
        self.personalization = extract(&[0; 32], &[bytes]);
        self
    }

    /// Sets how much may be kept between two calls.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

impl<E: EntropySource> Builder<E> {
    /// Builds the generator and seeds it.
    ///
    /// # Errors
    ///
    /// [`Error`] if the source fails or gives 32 equal bytes.
    pub fn build(self) -> Result<Crng<E>, Error> {
        let mut label = [0; 64];
        label[..32].copy_from_slice(&LABEL);
        label[32..].copy_from_slice(&self.personalization);
        let (source, policy, memory) = (self.source, self.policy, Memory::new());
        let mut crng = Crng { source, policy, label, memory };
        crng.reseed()?;
        Ok(crng)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::fork::{self, Stamp};

    /// Counts what it is asked for, and fails when told to.
    struct Mock {
        draws: u32,
        fails: bool,
        panics: bool,
    }

    impl EntropySource for Mock {
        fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
            assert!(!self.panics, "the source panics");
            if self.fails {
                dst[0] = 1;
                return Err(Error::SOURCE);
            }
            self.draws += 1;
            for (i, byte) in dst.iter_mut().enumerate() {
                *byte = (self.draws * 31 + i as u32) as u8;
            }
            Ok(())
        }
    }

    /// Where the kernel does not wipe pages, under an emulator for one, every call must draw.
    fn draws_for_each_call() -> bool {
        fork::stamp() == Stamp::Unknown
    }

    const MOCK: Mock = Mock { draws: 0, fails: false, panics: false };

    fn bytes<E: EntropySource>(crng: &mut Crng<E>) -> [u8; 32] {
        let mut bytes = [0; 32];
        crng.try_fill(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_source_that_fails_builds_nothing() {
        let built = Crng::builder().source(Mock { fails: true, ..MOCK }).build();
        assert_eq!(built.map(|_| ()), Err(Error::SOURCE));
    }

    #[test]
    fn a_source_that_repeats_one_byte_builds_nothing() {
        struct Stuck;
        impl EntropySource for Stuck {
            fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
                dst.fill(0xa5);
                Ok(())
            }
        }
        assert_eq!(Crng::builder().source(Stuck).build().map(|_| ()), Err(Error::WEAK));
    }

    #[test]
    fn new_entropy_is_drawn_after_a_mebibyte() {
        let mut crng = Crng::builder().source(MOCK).build().unwrap();
        let mut block = std::vec![0; 1000];
        for _ in 0..1000 {
            crng.try_fill(&mut block).unwrap();
        }
        assert_eq!(crng.source.draws, if draws_for_each_call() { 1001 } else { 1 });
        let drawn = crng.source.draws;
        for _ in 0..53 {
            crng.try_fill(&mut block).unwrap();
        }
        assert!(crng.source.draws > drawn);
    }

    #[test]
    fn a_failed_reseed_leaves_the_stream_going_and_is_tried_again() {
        let mut crng = Crng::builder().source(MOCK).build().unwrap();
        crng.source.fails = true;
        assert_eq!(crng.reseed(), Err(Error::SOURCE));
        if draws_for_each_call() {
            assert_eq!(crng.try_fill(&mut [0; 8]), Err(Error::SOURCE));
            return;
        }
        assert!(crng.health().degraded());
        assert_ne!(bytes(&mut crng), bytes(&mut crng));
        assert_eq!(crng.source.draws, 1);
        crng.source.fails = false;
        crng.reseed().unwrap();
        assert!(!crng.health().degraded());
        assert_eq!((crng.source.draws, crng.health().reseeds()), (2, 2));
    }

    #[test]
    fn strict_draws_for_every_call_and_fails_with_zeros() {
        let mut crng = Crng::builder().source(MOCK).policy(Policy::Strict).build().unwrap();
        bytes(&mut crng);
        bytes(&mut crng);
        assert_eq!(crng.source.draws, 3);
        crng.source.fails = true;
        let mut dst = [1; 40];
        assert_eq!(crng.try_fill(&mut dst), Err(Error::SOURCE));
        assert_eq!(dst, [0; 40]);
    }

    #[test]
    fn a_source_that_panics_leaves_the_generator_unseeded() {
        let mut crng = Crng::builder().source(MOCK).build().unwrap();
        bytes(&mut crng);
        crng.source.panics = true;
        let call = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| crng.reseed()));
        assert!(call.is_err());
        (crng.source.panics, crng.source.fails) = (false, true);
        assert_eq!(crng.try_fill(&mut [0; 8]), Err(Error::SOURCE));
        crng.source.fails = false;
        assert_ne!(bytes(&mut crng), bytes(&mut crng));
    }

    #[test]
    fn numbers_and_orders_come_from_the_source() {
        let mut crng = Crng::builder().source(MOCK).build().unwrap();
        assert!((0..100).all(|_| crng.try_below(10).unwrap() < 10));
        assert!((0..100).all(|_| (-3..=3).contains(&crng.try_range(-3..=3).unwrap())));
        let mut deck: Vec<u8> = (0..52).collect();
        crng.try_shuffle(&mut deck).unwrap();
        assert!(!deck.is_sorted());
        deck.sort();
        assert!(deck.into_iter().eq(0..52));
        let mut keys = [const { SessionKey::<32>::zeroed() }; 3];
        crng.try_fill_keys(&mut keys).unwrap();
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
        let mut crng = Crng::builder().source(MOCK).policy(Policy::Strict).build().unwrap();
        crng.source.fails = true;
        assert_eq!(crng.try_u64(), Err(Error::SOURCE));
        assert_eq!(crng.try_range(1..=6), Err(Error::SOURCE));
        assert_eq!(crng.try_shuffle(&mut [1, 2]), Err(Error::SOURCE));
        assert_eq!(crng.try_fill_keys(&mut keys), Err(Error::SOURCE));
        assert_eq!(keys[0], SessionKey::zeroed());
    }

    #[test]
    fn personalization_separates_equal_sources() {
        let outputs: Vec<[u8; 32]> = [b"".as_slice(), b"a", b"b"]
            .into_iter()
            .map(|label| Crng::builder().source(MOCK).personalization(label).build().unwrap())
            .map(|mut crng| bytes(&mut crng))
            .collect();
        assert_ne!(outputs[0], outputs[1]);
        assert_ne!(outputs[1], outputs[2]);
    }
}

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
    ///
    /// # Examples
    ///
    /// ```
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// let key = rng.try_key::<32>()?;
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[cfg(feature = "getrandom")]
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Starts to build a generator over the operating system's entropy, unless
    /// [`Builder::source`] names another.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::builder().build()?;
    /// let roll = rng.try_range(1..=6)?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let heads = keyspring::crng::Crng::new()?.try_bool()?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
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
            ///
            /// # Examples
            ///
            /// ```
            /// # #[cfg(feature = "getrandom")] {
            #[doc = concat!("let number: ", stringify!($int), " = keyspring::crng::Crng::new()?.", stringify!($name), "()?;")]
            /// # }
            /// # Ok::<(), keyspring::crng::Error>(())
            /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let rng = keyspring::crng::Crng::new()?;
    /// assert!(!rng.health().degraded());
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// use keyspring::crng::{Crng, SystemEntropy};
    ///
    /// let mut rng = Crng::builder().source(SystemEntropy).build()?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// use keyspring::crng::{Crng, Policy};
    ///
    /// // Nothing: each call draws new entropy.
    /// let mut rng = Crng::builder().policy(Policy::Strict).build()?;
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::crng::{Crng, EntropySource, Error};
    ///
    /// /// All it gives is one byte, again and again.
    /// struct Stuck;
    ///
    /// impl EntropySource for Stuck {
    ///     fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
    ///         dst.fill(0xff);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// assert_eq!(Crng::builder().source(Stuck).build().err(), Some(Error::WEAK));
    /// ```
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
mod tests;

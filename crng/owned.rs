//! A generator that you own, over an entropy source of your choice.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::generator::Generator;
use super::seed::{draw, extract};
use super::{EntropySource, Error, SessionKey, SystemEntropy};
use crate::fork::{self, Stamp};

/// The output of 17 blocks: four session keys of 256 bytes and what is left.
const OUTPUT: usize = 64 * 17 - 32;

/// The bytes after which a generator draws new entropy.
const RESEED_BYTES: u64 = 1 << 20;

/// How often a call starts again because the process was forked in the middle of it.
const TRIES: usize = 3;

/// What heads the input of the extractor, padded to 32 bytes.
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
    /// Output is made ahead. New entropy is drawn after 1 MiB; if the source fails then, output
    /// goes on from the erased key and the source is asked again at each call. A forked process
    /// draws entropy of its own, and its first call fails if the source does.
    #[default]
    Standard,
    /// New entropy is drawn for every call, and its failure is the call's.
    Strict,
}

/// A cryptographically secure generator with a state of its own: fast key erasure over ChaCha20.
///
/// # Security
///
/// It is not `Clone`, since two copies would give the same bytes. With `std` on Linux, a fork is
/// noticed by the next call and by the one it interrupts; on platforms that have no fork there is
/// nothing to notice; elsewhere every call draws new entropy. Without `std` nothing is noticed: the
/// owner must see to it that the state is never copied, by a fork, a snapshot or a clone of the
/// machine, or take [`Policy::Strict`].
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
    /// The personalization's hash, which goes into every seed.
    personalization: [u8; 32],
    generator: Generator<OUTPUT>,
    /// What [`fork::stamp`] said when entropy was drawn last; `None` before the first time, and
    /// while the source is being asked because the old state must not be used.
    seeded: Option<Stamp>,
    bytes_since: u64,
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
    pub fn try_fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        let filled = self.try_fill_unique(dst);
        if filled.is_err() {
            dst.zeroize();
        }
        filled
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

    /// Draws new entropy now.
    ///
    /// # Errors
    ///
    /// [`Error`] if the source fails; the state is as it was.
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
        let stamp = fork::stamp();
        let mut entropy = draw(&mut self.source)?;
        self.generator.rekey(|key| extract(key, &[&LABEL, &entropy, &self.personalization]));
        entropy.as_mut_slice().zeroize();
        (self.seeded, self.bytes_since) = (Some(stamp), 0);
        Ok(())
    }

    fn try_fill_unique(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        for _ in 0..TRIES {
            self.prepare()?;
            self.generator.fill(dst);
            self.bytes_since = self.bytes_since.saturating_add(dst.len() as u64);
            // A fork in the middle of the call leaves two processes here with the same bytes; the
            // child's stamp is another, and it starts again.
            if self.seeded == Some(fork::stamp()) {
                return Ok(());
            }
        }
        Err(Error::SOURCE)
    }

    /// Sees to it that the state is this process's own and fresh enough.
    fn prepare(&mut self) -> Result<(), Error> {
        let stamp = fork::stamp();
        let own = self.seeded == Some(stamp) && stamp != Stamp::Unknown;
        if !own || self.policy == Policy::Strict {
            // Should the source fail or panic, the state counts as unseeded.
            self.seeded = None;
            return self.reseed();
        }
        if self.bytes_since >= RESEED_BYTES {
            // A failure is not the call's: the key is erased and sound, and the next call tries
            // again.
            let _ = self.reseed();
        }
        Ok(())
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
        let mut crng = Crng {
            source: self.source,
            policy: self.policy,
            personalization: self.personalization,
            generator: Generator::new([0; 32]),
            seeded: None,
            bytes_since: 0,
        };
        crng.reseed()?;
        Ok(crng)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Counts what it is asked for, and fails when told to.
    struct Mock {
        draws: u8,
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
                *byte = self.draws.wrapping_mul(31).wrapping_add(i as u8);
            }
            Ok(())
        }
    }

    /// Where a fork can't be noticed, under an emulator for one, every call must draw.
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
        let mut block = std::vec![0; 1 << 16];
        for _ in 0..16 {
            crng.try_fill(&mut block).unwrap();
        }
        let drawn = if draws_for_each_call() { 17 } else { 1 };
        assert_eq!(crng.source.draws, drawn);
        bytes(&mut crng);
        assert_eq!(crng.source.draws, drawn + 1);
    }

    #[test]
    fn a_failed_reseed_leaves_the_stream_going_and_is_tried_again() {
        let mut crng = Crng::builder().source(MOCK).build().unwrap();
        crng.bytes_since = RESEED_BYTES;
        crng.source.fails = true;
        if draws_for_each_call() {
            assert_eq!(crng.try_fill(&mut [0; 8]), Err(Error::SOURCE));
            return;
        }
        assert_ne!(bytes(&mut crng), bytes(&mut crng));
        assert_eq!(crng.source.draws, 1);
        crng.source.fails = false;
        bytes(&mut crng);
        assert_eq!((crng.source.draws, crng.bytes_since), (2, 32));
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
        let mut crng = Crng::builder().source(MOCK).policy(Policy::Strict).build().unwrap();
        crng.source.panics = true;
        let call = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| bytes(&mut crng)));
        assert!(call.is_err());
        assert_eq!(crng.seeded, None);
        (crng.source.panics, crng.source.fails, crng.policy) = (false, true, Policy::Standard);
        assert_eq!(crng.try_fill(&mut [0; 8]), Err(Error::SOURCE));
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

//! The traits of `rand_core` 0.6.

use core::num::NonZeroU32;

use rand_core_06::{CryptoRng, RngCore, SeedableRng};

use super::{Crng, EntropySource, Error, SeededCrng};

/// The error of the trait holds a number, which says no more than that there is one.
fn code(_: Error) -> rand_core_06::Error {
    NonZeroU32::MIN.saturating_add(rand_core_06::Error::CUSTOM_START).into()
}

impl RngCore for SeededCrng {
    fn next_u32(&mut self) -> u32 {
        self.u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.u64()
    }

    fn fill_bytes(&mut self, dst: &mut [u8]) {
        self.fill(dst);
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), rand_core_06::Error> {
        self.fill(dst);
        Ok(())
    }
}

impl CryptoRng for SeededCrng {}

impl SeedableRng for SeededCrng {
    type Seed = [u8; 32];

    fn from_seed(seed: [u8; 32]) -> Self {
        Self::from_seed(seed)
    }
}

/// Panics if entropy is needed and the source fails, but for `try_fill_bytes`.
impl<E: EntropySource> RngCore for Crng<E> {
    fn next_u32(&mut self) -> u32 {
        self.try_u32().expect("entropy")
    }

    fn next_u64(&mut self) -> u64 {
        self.try_u64().expect("entropy")
    }

    fn fill_bytes(&mut self, dst: &mut [u8]) {
        self.try_fill(dst).expect("entropy");
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), rand_core_06::Error> {
        self.try_fill(dst).map_err(code)
    }
}

impl<E: EntropySource> CryptoRng for Crng<E> {}

#[cfg(all(feature = "std", feature = "getrandom"))]
mod thread {
    use rand_core_06::{CryptoRng, RngCore};

    use crate::crng::{self, ThreadCrng};

    /// Panics, as [`crng::fill`] does, if the operating system gives no entropy; but for
    /// `try_fill_bytes`.
    impl RngCore for ThreadCrng {
        fn next_u32(&mut self) -> u32 {
            crng::u32()
        }

        fn next_u64(&mut self) -> u64 {
            crng::u64()
        }

        fn fill_bytes(&mut self, dst: &mut [u8]) {
            crng::fill(dst);
        }

        fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), rand_core_06::Error> {
            crng::try_fill(dst).map_err(super::code)
        }
    }

    impl CryptoRng for ThreadCrng {}
}

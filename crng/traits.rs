//! The traits of `rand_core` 0.10.

use rand_core::{SeedableRng, TryCryptoRng, TryRng};

use super::{Crng, EntropySource, Error, SeededCrng};

impl TryRng for SeededCrng {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.u64())
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
        self.fill(dst);
        Ok(())
    }
}

impl TryCryptoRng for SeededCrng {}

impl SeedableRng for SeededCrng {
    type Seed = [u8; 32];

    fn from_seed(seed: [u8; 32]) -> Self {
        Self::from_seed(seed)
    }
}

impl<E: EntropySource> TryRng for Crng<E> {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        self.try_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        self.try_u64()
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        self.try_fill(dst)
    }
}

impl<E: EntropySource> TryCryptoRng for Crng<E> {}

#[cfg(all(feature = "std", feature = "getrandom"))]
mod thread {
    use rand_core::{TryCryptoRng, TryRng};

    use crate::crng::{self, ThreadCrng};

    /// Panics, as [`crng::fill`] does, if the operating system gives no entropy.
    impl TryRng for ThreadCrng {
        type Error = core::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(crng::u32())
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(crng::u64())
        }

        fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
            crng::fill(dst);
            Ok(())
        }
    }

    impl TryCryptoRng for ThreadCrng {}
}

//! The traits of `rand_core` 0.9.

use rand_core_09::{CryptoRng, RngCore, SeedableRng, TryCryptoRng, TryRngCore};

use super::{Crng, EntropySource, Error, SeededCrng};

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
}

impl CryptoRng for SeededCrng {}

impl SeedableRng for SeededCrng {
    type Seed = [u8; 32];

    fn from_seed(seed: [u8; 32]) -> Self {
        Self::from_seed(seed)
    }
}

impl<E: EntropySource> TryRngCore for Crng<E> {
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
    use rand_core_09::{CryptoRng, RngCore};

    use crate::crng::{self, ThreadCrng};

    /// Panics, as [`crng::fill`] does, if the operating system gives no entropy.
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
    }

    impl CryptoRng for ThreadCrng {}
}

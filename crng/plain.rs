//! What an owned generator keeps where no fork can copy it, or where its owner sees to that.

use zeroize::Zeroize;

use super::generator::Generator;
use super::seed::{draw, extract};
use super::{EntropySource, Error, Health};
use crate::fork::{self, Stamp};

/// The output of 16 blocks, less the next key.
const OUTPUT: usize = 64 * 16 - 32;

/// The bytes after which a generator draws new entropy.
const RESEED_BYTES: u64 = 1 << 20;

pub(super) struct Memory {
    generator: Generator<OUTPUT>,
    seeded: bool,
    bytes_since: u64,
    pub(super) health: Health,
}

impl Memory {
    pub(super) fn new() -> Self {
        let generator = Generator::new([0; 32]);
        Self { generator, seeded: false, bytes_since: 0, health: Health::NEW }
    }

    /// Fills `dst`. `None` where nothing may be kept.
    pub(super) fn fill<E: EntropySource>(
        &mut self,
        source: &mut E,
        label: &[u8],
        dst: &mut [u8],
    ) -> Option<Result<(), Error>> {
        if fork::stamp() == Stamp::Unknown {
            return None;
        }
        if !self.seeded || self.bytes_since >= RESEED_BYTES {
            let error = self.reseed(source, label)?.err();
            // A later failure is not the call's: the key is erased and sound, and the next call
            // tries again.
            if let Some(error) = error.filter(|_| !self.seeded) {
                return Some(Err(error));
            }
        }
        self.generator.fill(dst);
        self.bytes_since = self.bytes_since.saturating_add(dst.len() as u64);
        Some(Ok(()))
    }

    /// Draws new entropy now. `None` where there is nothing to renew.
    pub(super) fn reseed<E: EntropySource>(
        &mut self,
        source: &mut E,
        label: &[u8],
    ) -> Option<Result<(), Error>> {
        if fork::stamp() == Stamp::Unknown {
            return None;
        }
        // Should the source panic, the generator counts as unseeded.
        let seeded = core::mem::take(&mut self.seeded);
        let mut drawn = draw(source);
        self.seeded = seeded;
        self.health.error = drawn.err();
        if let Ok(entropy) = &mut drawn {
            let mut old = [0; 32];
            self.generator.fill(&mut old);
            let mut key = extract(&old, &[label, entropy]);
            self.generator = Generator::new(key);
            for secret in [entropy, &mut old, &mut key] {
                secret.as_mut_slice().zeroize();
            }
            (self.seeded, self.bytes_since) = (true, 0);
            self.health.reseeds += 1;
        }
        Some(drawn.map(|_| ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it is asked for, and fails when told to.
    struct Mock {
        draws: u8,
        fails: bool,
    }

    impl EntropySource for Mock {
        fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
            self.draws += 1;
            for (i, byte) in dst.iter_mut().enumerate() {
                *byte = self.draws + i as u8;
            }
            if self.fails { Err(Error::SOURCE) } else { Ok(()) }
        }
    }

    /// Where forks can't be noticed, there is nothing to test.
    fn with_memory(test: impl FnOnce(Memory, Mock)) {
        if fork::stamp() != Stamp::Unknown {
            test(Memory::new(), Mock { draws: 0, fails: false });
        }
    }

    #[test]
    fn plain_memory_is_seeded_once_and_after_a_mebibyte() {
        with_memory(|mut memory, mut source| {
            let mut bytes = [[0; 1024]; 2];
            for i in 0..1025 {
                assert_eq!(memory.fill(&mut source, b"label", &mut bytes[i % 2]), Some(Ok(())));
                assert_ne!(bytes[0], bytes[1]);
            }
            assert_eq!((source.draws, memory.health.reseeds()), (2, 2));
        });
    }

    #[test]
    fn plain_memory_fails_unless_it_was_seeded_before() {
        with_memory(|mut memory, mut source| {
            source.fails = true;
            assert_eq!(memory.fill(&mut source, b"", &mut [0; 8]), Some(Err(Error::SOURCE)));
            source.fails = false;
            assert_eq!(memory.fill(&mut source, b"", &mut [0; 8]), Some(Ok(())));
            source.fails = true;
            assert_eq!(memory.reseed(&mut source, b""), Some(Err(Error::SOURCE)));
            assert!(memory.health.degraded());
            assert_eq!(memory.fill(&mut source, b"", &mut [0; 8]), Some(Ok(())));
        });
    }
}

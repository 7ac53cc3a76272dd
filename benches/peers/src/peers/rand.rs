//! rand: the thread's generator and a seeded one.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

use super::{Peer, Source};
use crate::traits::Random;

/// rand.
pub fn peer() -> Peer {
    Peer {
        version: super::locked_version("rand").into(),
        random: vec![
            Source {
                name: "rand::rng()",
                about: "ChaCha12, 12 rounds; no erasure, no guard against a fork",
                random: Box::new(Generator(rand::rng())),
            },
            Source {
                name: "rand ChaCha20Rng",
                about: "ChaCha20, 20 rounds; no erasure, no reseed: a bare stream",
                random: Box::new(Generator(ChaCha20Rng::from_rng(&mut rand::rng()))),
            },
        ],
        ..Peer::default()
    }
}

/// Any generator of rand's, held by the caller, which spares a look-up for each request.
struct Generator<R>(R);

impl<R: Rng> Random for Generator<R> {
    fn fill(&mut self, dst: &mut [u8]) {
        self.0.fill_bytes(dst);
    }

    fn u32(&mut self) -> Option<u32> {
        Some(self.0.next_u32())
    }

    fn u64(&mut self) -> Option<u64> {
        Some(self.0.next_u64())
    }
}

//! The jobs: what is timed, at which lengths.

mod aead;
mod chacha;
mod packets;
mod poly1305;
mod random;

use core::cell::RefCell;

use clap::ValueEnum;

use crate::clock::Clock;
use crate::measure::{Candidate, Plan, Series, Subject, measure};
use crate::peers::Peer;
use crate::traits::painted;

/// The jobs by the names that the command line takes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Job {
    /// The ChaCha20 keystream xored into a message, in place.
    Chacha,
    /// One-shot Poly1305.
    Poly1305,
    /// ChaCha20-Poly1305: seal and open.
    Aead,
    /// 16 packets at a time.
    Batch,
    /// Messages sealed under consecutive nonces.
    Sequential,
    /// Random bytes.
    Rng,
    /// Fresh keys.
    Keygen,
}

impl Job {
    /// Times everybody at this job.
    pub fn run(self, bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
        match self {
            Self::Chacha => chacha::run(bench, peers),
            Self::Poly1305 => poly1305::run(bench, peers),
            Self::Aead => aead::run(bench, peers),
            Self::Batch => packets::batch(bench, peers),
            Self::Sequential => packets::sequential(bench, peers),
            Self::Rng => random::rng(bench, peers),
            Self::Keygen => random::keygen(bench, peers),
        }
    }
}

/// How to measure.
#[derive(Clone, Copy)]
pub struct Bench {
    /// The calibrated clock.
    pub clock: Clock,
    /// Rounds and slices.
    pub plan: Plan,
}

impl Bench {
    fn measure(self, subject: Subject, candidates: Vec<Candidate<'_>>) -> Vec<Series> {
        measure(self.clock, self.plan, subject, candidates)
    }
}

/// The lengths of messages in bytes. They bracket what implementations branch on; 1350 and 1500 are
/// packets, 3173 is a length of the "short messages" mail.
const LENGTHS: [usize; 24] = [
    0,
    1,
    16,
    64,
    127,
    128,
    192,
    200,
    256,
    288,
    384,
    511,
    512,
    768,
    1024,
    1350,
    1500,
    2048,
    3173,
    4096,
    8192,
    16384,
    65536,
    1 << 20,
];

/// A message that starts a cache line, shared by the candidates, so that all work on the same one.
struct Message(RefCell<Vec<u8>>, usize);

impl Message {
    fn new(length: usize) -> Self {
        Self(RefCell::new(painted(length + Self::LINE)), length)
    }

    fn with<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut bytes = self.0.borrow_mut();
        let start = bytes.as_ptr().align_offset(Self::LINE);
        work(&mut bytes[start..][..self.1])
    }

    const LINE: usize = 64;
}

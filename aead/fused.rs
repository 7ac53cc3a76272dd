//! Body of a fused row: the vertical ChaCha20 pass, with scalar Poly1305 between its rounds.
//!
//! ```text
//! vector units    | encrypt chunk 0 | encrypt chunk 1 | encrypt chunk 2 | ...
//! integer units   |                 | tag of chunk 0  | tag of chunk 1  | ...
//! ```
//!
//! 1. Scalar Poly1305 is a chain of multiplies that leaves the vector units idle, and the rounds of
//!    ChaCha20 leave the integer units idle: done together, both cost little more than the longer.
//! 2. The tag is of the ciphertext, so it runs one chunk behind.
//! 3. A block of Poly1305 takes as long as two quarter rounds, a little less than its share: of the
//!    40 slots between quarter rounds, every fifth stays empty, so that the 32 blocks of a chunk of
//!    512 bytes are spread over all rounds (Zen 3, 64 KiB: 90.9 k cycles without that, 85.8 k with
//!    it, 102.8 k unfused). Two passes in step have 80 slots for 64 blocks.
//! 4. To open, the whole tag comes before the first byte, so there is nothing to fuse.

use crate::chacha::data::{Apart, InPlace, Sink};
use crate::chacha::isa::Isa;
use crate::chacha::{State, wide};
use crate::poly1305::scalar;

/// What encrypts a chunk and leaves slots between its rounds.
pub(super) trait Pass: Copy {
    /// The bytes of a chunk.
    const CHUNK: usize;

    /// Puts the keystream from block `first` on to `sink`, and calls `between` for each slot: there
    /// are five for each four blocks of Poly1305 in a chunk.
    fn run<S: Sink>(self, state: &State, first: u64, sink: &mut S, between: impl FnMut());
}

/// The vertical pass.
#[derive(Clone, Copy)]
pub(super) struct Vertical<I>(pub(super) I);

impl<I: Isa> Pass for Vertical<I> {
    const CHUNK: usize = 64 * 4 * I::QUADS;

    #[inline(always)]
    fn run<S: Sink>(self, state: &State, first: u64, sink: &mut S, between: impl FnMut()) {
        wide::pass_with(self.0, state, first, sink, between);
    }
}

/// Encrypts whole chunks, of which block `first` is the first, from byte `encrypted` of `out` on: what
/// is before that is ciphertext already. The message lies in `source`, byte for byte, or in `out`
/// itself. Authenticates from byte 0 on, and returns how far that came.
#[inline(always)]
pub(super) fn seal<P: Pass>(
    pass: P,
    state: &State,
    mut first: u64,
    mac: &mut scalar::State,
    source: Option<&[u8]>,
    out: &mut [u8],
    encrypted: usize,
) -> usize {
    let (mut authenticated, mut at) = (0, encrypted);
    while out.len() - at >= P::CHUNK {
        let (behind, ahead) = out.split_at_mut(at);
        let ahead = &mut ahead[..P::CHUNK];
        let mut blocks = behind[authenticated..].as_chunks::<16>().0.iter();
        let mut slot = 0;
        let mut running = mac.running();
        let between = || {
            slot += 1;
            if slot == 5 {
                slot = 0;
            } else if let Some(block) = blocks.next() {
                running.block(block);
            }
        };
        match source {
            None => pass.run(state, first, &mut InPlace(ahead), between),
            Some(source) => {
                let ahead = &mut Apart::new(&source[at..at + P::CHUNK], ahead);
                pass.run(state, first, ahead, between);
            }
        }
        mac.set(running);
        authenticated = at - 16 * blocks.len();
        first = first.wrapping_add((P::CHUNK / 64) as u64);
        at += P::CHUNK;
    }
    authenticated
}

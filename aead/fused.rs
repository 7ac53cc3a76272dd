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
//!    it, 102.8 k unfused).
//! 4. To open, the whole tag comes before the first byte, so there is nothing to fuse.

use crate::chacha::data::{Apart, InPlace};
use crate::chacha::isa::Isa;
use crate::chacha::{State, wide};
use crate::poly1305::scalar;

/// Encrypts whole chunks of `4 * QUADS` blocks, of which block `first` is the first, from byte
/// `encrypted` of `out` on: what is before that is ciphertext already. The message lies in `source`,
/// byte for byte, or in `out` itself. Authenticates from byte 0 on, and returns how far that came.
#[inline(always)]
pub(super) fn seal<I: Isa>(
    isa: I,
    state: &State,
    mut first: u64,
    mac: &mut scalar::State,
    source: Option<&[u8]>,
    out: &mut [u8],
    encrypted: usize,
) -> usize {
    let chunk = 64 * 4 * I::QUADS;
    let (mut authenticated, mut at) = (0, encrypted);
    while out.len() - at >= chunk {
        let (behind, ahead) = out.split_at_mut(at);
        let ahead = &mut ahead[..chunk];
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
            None => wide::pass_with(isa, state, first, &mut InPlace(ahead), between),
            Some(source) => {
                let ahead = &mut Apart::new(&source[at..at + chunk], ahead);
                wide::pass_with(isa, state, first, ahead, between);
            }
        }
        mac.set(running);
        authenticated = at - 16 * blocks.len();
        first = first.wrapping_add((chunk / 64) as u64);
        at += chunk;
    }
    authenticated
}

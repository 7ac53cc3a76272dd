//! Vertical kernel body for blocks that have nothing to do with each other.
//!
//! ```text
//!            lane 0     lane 1     ...   lane 4Q-1        Q = 128-bit lanes of a vector
//! x[0]     | "expa"   | "expa"   | ...
//! x[4]     | key a    | key b    | ...
//!  ...
//! x[12]    | ctr a    | ctr b    | ...
//!  ...
//! x[15]    | nonce a  | nonce b  | ...
//! ```
//!
//! Only the start differs from [`wide`](super::wide): it is gathered from the lanes, a row of each at
//! a time, by the same transpose that ends a pass.

use super::data::Keystream;
use super::isa::Isa;
use super::wide::{put_blocks, rounds};
use super::{CONSTANTS, State};

/// A block: a state, and the block's number from the state's own on.
pub(crate) type Lane<'a> = (&'a State, u64);

/// The blocks of the widest vector.
pub(crate) const MOST_LANES: usize = 16;

/// Room for a block of each lane.
pub(crate) type Blocks = [[u8; 64]; MOST_LANES];

/// Writes the block of each lane, in their order. What `blocks` holds beyond is keystream too.
#[inline(always)]
pub(super) fn lanes<I: Isa>(isa: I, lanes: &[Lane<'_>], blocks: &mut Blocks) {
    assert!(lanes.len() <= MOST_LANES);
    let width = 4 * I::QUADS;
    for (lanes, blocks) in lanes.chunks(width).zip(blocks.chunks_exact_mut(width)) {
        pass(isa, lanes, &mut Keystream(blocks.as_flattened_mut()));
    }
}

/// A vertical pass. Vector lanes that are left over do the last one's work again.
#[inline(always)]
fn pass<I: Isa>(isa: I, lanes: &[Lane<'_>], sink: &mut Keystream<'_>) {
    let [a, b, c, d] = CONSTANTS;
    let [a, b, c, d] = [isa.splat(a), isa.splat(b), isa.splat(c), isa.splat(d)];
    let [e, f, g, h] = gather::<I, 1>(isa, lanes);
    let [i, j, k, l] = gather::<I, 2>(isa, lanes);
    let [m, n, o, p] = gather::<I, 3>(isa, lanes);
    let start = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];

    let mut x = rounds(isa, start, lanes[0].0.double_rounds, || ());
    for i in 0..16 {
        x[i] = isa.add(x[i], start[i]);
    }
    put_blocks(isa, x, 0, sink);
}

/// The four words of a row, one of each lane in each vector.
#[inline(always)]
fn gather<I: Isa, const ROW: usize>(isa: I, lanes: &[Lane<'_>]) -> [I::V; 4] {
    let rows = |j: usize| {
        isa.rows(|quad| {
            let (state, number) = lanes[(4 * quad + j).min(lanes.len() - 1)];
            state.words(number).as_chunks().0[ROW]
        })
    };
    isa.transpose_words([rows(0), rows(1), rows(2), rows(3)])
}

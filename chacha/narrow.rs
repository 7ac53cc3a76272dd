//! Row-wise kernel body: one row of the state per vector, one block per 128-bit lane.
//!
//! ```text
//!         lane 0 (block 0)            lane 1 (block 1)
//! a     | x0   x1   x2   x3       | x0   x1   x2   x3       |
//! b     | x4   x5   x6   x7       | x4   x5   x6   x7       |
//! c     | x8   x9   x10  x11      | x8   x9   x10  x11      |
//! d     | ctr  x13  x14  x15      | ctr+1 x13 x14  x15      |
//! ```
//!
//! A column round is one quarter round on (a, b, c, d). For the diagonal round the rows are turned
//! until each diagonal is a column. Rows a, c and d are turned and b stands still: b is written
//! last, so turning it would lie on the critical path.
//!
//! A *chain* is one such group of four rows. Several chains run side by side to hide the latency of
//! one; a whole half round of one chain comes before the next chain's.

use super::data::Sink;
use super::isa::{Isa, quarter_round};
use super::shapes::record;
use super::{CONSTANTS, State};

/// Puts the keystream of `CHAINS * QUADS` blocks from block `first` on to `sink`.
#[inline(always)]
pub(crate) fn pass<I: Isa, S: Sink, const CHAINS: usize>(
    isa: I,
    state: &State,
    first: u64,
    sink: &mut S,
) {
    record("chains", CHAINS * I::QUADS);
    let [k0, k1, k2, k3, k4, k5, k6, k7] = state.key;
    let (a, b, c) = (isa.row(CONSTANTS), isa.row([k0, k1, k2, k3]), isa.row([k4, k5, k6, k7]));
    let mut start = [[a, b, c, a]; CHAINS];
    for (chain, rows) in start.iter_mut().enumerate() {
        let block = first.wrapping_add((chain * I::QUADS) as u64);
        rows[3] = isa.last_row(state.counter.wrapping_add(block), state.nonce);
    }

    let mut rows = start;
    for _ in 0..state.double_rounds {
        for row in &mut rows {
            let [a, b, c, d] = quarter_round(isa, *row);
            *row = [isa.turn3(a), b, isa.turn1(c), isa.turn2(d)];
        }
        for row in &mut rows {
            let [a, b, c, d] = quarter_round(isa, *row);
            *row = [isa.turn1(a), b, isa.turn3(c), isa.turn2(d)];
        }
    }

    for chain in 0..CHAINS {
        for i in 0..4 {
            rows[chain][i] = isa.add(rows[chain][i], start[chain][i]);
        }
        for (i, keystream) in isa.transpose_quads(rows[chain]).into_iter().enumerate() {
            sink.put_vector(isa, (4 * chain + i) * I::BYTES, keystream);
        }
    }
}

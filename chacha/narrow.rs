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
use super::pair::InOrder;
use super::shapes::record;
use super::woven::{Lead, weave};
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
    let start = matrix::<I, CHAINS>(isa, state, first);
    let mut rows = start;
    for _ in 0..state.double_rounds {
        rows = diagonals(isa, columns(isa, rows));
    }
    put_chains(isa, rows, start, sink);
}

/// As [`pass`], from the block behind `first` on; that one goes to `lead`.
#[inline(always)]
pub(super) fn woven_pass<I: InOrder, S: Sink, const CHAINS: usize>(
    isa: I,
    state: &State,
    first: u64,
    lead: &mut [u8; 64],
    sink: &mut S,
) {
    record("woven chains", CHAINS * I::QUADS);
    let mut lead = Lead::new(state, first, lead);
    let start = matrix::<I, CHAINS>(isa, state, first.wrapping_add(1));
    let mut rows = start;
    weave!(
        state.double_rounds,
        lead,
        rows = columns(isa, rows),
        rows = diagonals(isa, rows),
        for (i, rows) in rows.iter_mut().enumerate() {
            isa.tie(&mut rows[1], &mut lead.x[4 + i]);
        }
    );
    put_chains(isa, rows, start, sink);
}

/// The matrices of so many chains, row by row.
#[inline(always)]
fn matrix<I: Isa, const CHAINS: usize>(isa: I, state: &State, first: u64) -> [[I::V; 4]; CHAINS] {
    let [k0, k1, k2, k3, k4, k5, k6, k7] = state.key;
    let (a, b, c) = (isa.row(CONSTANTS), isa.row([k0, k1, k2, k3]), isa.row([k4, k5, k6, k7]));
    let mut start = [[a, b, c, a]; CHAINS];
    for (chain, rows) in start.iter_mut().enumerate() {
        let block = first.wrapping_add((chain * I::QUADS) as u64);
        rows[3] = isa.last_row(state.counter.wrapping_add(block), state.nonce);
    }
    start
}

#[inline(always)]
fn columns<I: Isa, const CHAINS: usize>(
    isa: I,
    mut rows: [[I::V; 4]; CHAINS],
) -> [[I::V; 4]; CHAINS] {
    for row in &mut rows {
        let [a, b, c, d] = quarter_round(isa, *row);
        *row = [isa.turn3(a), b, isa.turn1(c), isa.turn2(d)];
    }
    rows
}

#[inline(always)]
fn diagonals<I: Isa, const CHAINS: usize>(
    isa: I,
    mut rows: [[I::V; 4]; CHAINS],
) -> [[I::V; 4]; CHAINS] {
    for row in &mut rows {
        let [a, b, c, d] = quarter_round(isa, *row);
        *row = [isa.turn1(a), b, isa.turn3(c), isa.turn2(d)];
    }
    rows
}

/// The feed-forward of all chains, and on to `sink`.
#[inline(always)]
fn put_chains<I: Isa, S: Sink, const CHAINS: usize>(
    isa: I,
    rows: [[I::V; 4]; CHAINS],
    start: [[I::V; 4]; CHAINS],
    sink: &mut S,
) {
    // Written out, since the compiler would keep an array that it has to index on the stack.
    const { assert!(CHAINS >= 1 && CHAINS <= 3) };
    put_chain(isa, 0, rows[0], start[0], sink);
    if CHAINS > 1 {
        put_chain(isa, 1, rows[1], start[1], sink);
    }
    if CHAINS > 2 {
        put_chain(isa, 2, rows[2], start[2], sink);
    }
}

/// The feed-forward of one chain, and on to `sink`.
#[inline(always)]
fn put_chain<I: Isa, S: Sink>(
    isa: I,
    chain: usize,
    [a, b, c, d]: [I::V; 4],
    start: [I::V; 4],
    sink: &mut S,
) {
    let rows =
        [isa.add(a, start[0]), isa.add(b, start[1]), isa.add(c, start[2]), isa.add(d, start[3])];
    let [a, b, c, d] = isa.transpose_quads(rows);
    let at = 4 * chain * I::BYTES;
    sink.put_vector(isa, at, a);
    sink.put_vector(isa, at + I::BYTES, b);
    sink.put_vector(isa, at + 2 * I::BYTES, c);
    sink.put_vector(isa, at + 3 * I::BYTES, d);
}

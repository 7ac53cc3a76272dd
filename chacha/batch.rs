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
//! a time, by the same transpose that ends a pass. Where all have one key, only the last row is.

use core::hint::black_box;

use super::data::Keystream;
use super::isa::Isa;
use super::pair::{self, InOrder};
use super::wide::put_blocks;
use super::{CONSTANTS, DOUBLE_ROUNDS, State, words};

/// The lanes of the longest pass.
pub(crate) const MOST_LANES: usize = 32;

/// Room for a block of each lane.
pub(crate) type Blocks = [[u8; 64]; MOST_LANES];

/// The last row of a matrix of ChaCha20: which block, under which nonce.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place(pub(super) [u32; 4]);

impl Place {
    /// Block 0 under a 96-bit nonce, which is read as [`State::with_nonce_96`] reads it.
    #[inline(always)]
    pub(crate) fn start(nonce: &[u8; 12]) -> Self {
        let [a, b, c] = words(nonce);
        Self([0, a, b, c])
    }

    /// The input of HChaCha20.
    #[inline(always)]
    pub(crate) fn of_input(input: &[u8; 16]) -> Self {
        Self(words(input))
    }

    /// HChaCha20's output, the first and the last row without the feed-forward, out of a block
    /// (draft-irtf-cfrg-xchacha-03, section 2.2).
    pub(crate) fn undo_feed_forward(self, block: &[u8; 64], out: &mut [u8; 32]) {
        let words = block.as_chunks::<4>().0;
        let kept = words[..4].iter().zip(CONSTANTS).chain(words[12..].iter().zip(self.0));
        for (out, (word, start)) in out.as_chunks_mut().0.iter_mut().zip(kept) {
            *out = u32::from_le_bytes(*word).wrapping_sub(start).to_le_bytes();
        }
    }

    /// A block further on.
    #[inline(always)]
    pub(crate) fn block(self, number: u64) -> Self {
        let Self([low, high, a, b]) = self;
        let counter = (u64::from(high) << 32 | u64::from(low)).wrapping_add(number);
        Self([counter as u32, (counter >> 32) as u32, a, b])
    }
}

/// The keys of lanes.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    One(&'a [u8; 32]),
    Each(&'a [&'a [u8; 32]; MOST_LANES]),
}

/// Lanes: a block of ChaCha20 each. There are as many keys and places as there may be lanes, so that
/// none has to be asked for; of those that there are none of, anything is made.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<'a> {
    pub(crate) keys: Keys<'a>,
    pub(crate) places: &'a [Place; MOST_LANES],
    pub(crate) count: usize,
}

impl<'a> Lanes<'a> {
    #[inline(always)]
    fn key(self, lane: usize) -> &'a [u8; 32] {
        match self.keys {
            Keys::One(key) => key,
            Keys::Each(keys) => keys[lane],
        }
    }

    /// The state of a lane at its block.
    pub(super) fn state(self, lane: usize) -> State {
        let [low, high, a, b] = self.places[lane].0.map(u64::from);
        State::new(self.key(lane), high << 32 | low, b << 32 | a, DOUBLE_ROUNDS)
    }
}

/// Writes the block of each lane, in their order. What `blocks` holds beyond is keystream too.
#[inline(always)]
pub(super) fn lanes<I: Isa>(isa: I, lanes: Lanes<'_>, blocks: &mut Blocks) {
    let width = 4 * I::QUADS;
    for (at, blocks) in (0..lanes.count).step_by(width).zip(blocks.chunks_exact_mut(width)) {
        pass(isa, lanes, at, &mut Keystream(blocks.as_flattened_mut()));
    }
}

/// As [`lanes`], by two passes in step where there is more than one.
#[inline(always)]
pub(super) fn lanes_in_pairs<I: InOrder>(isa: I, lanes: Lanes<'_>, blocks: &mut Blocks) {
    const { assert!(8 * I::QUADS == MOST_LANES) };
    let sink = &mut Keystream(blocks.as_flattened_mut());
    if lanes.count > 4 * I::QUADS {
        pair_pass(isa, lanes, sink);
    } else {
        pass(isa, lanes, 0, sink);
    }
}

/// A vertical pass, of the lanes from `at` on.
#[inline(always)]
fn pass<I: Isa>(isa: I, lanes: Lanes<'_>, at: usize, sink: &mut Keystream<'_>) {
    let start = matrices(isa, keys(isa, lanes, at), places(isa, lanes, at));
    let mut x = isa.rounds(start, DOUBLE_ROUNDS, || ());
    for i in 0..16 {
        x[i] = isa.add(x[i], start[i]);
    }
    put_blocks(isa, x, 0, sink);
}

/// Two of them in step.
#[inline(always)]
fn pair_pass<I: InOrder>(isa: I, lanes: Lanes<'_>, sink: &mut Keystream<'_>) {
    let width = 4 * I::QUADS;
    let (p, q) = (places(isa, lanes, 0), places(isa, lanes, width));
    let start = [matrices(isa, keys(isa, lanes, 0), p), matrices(isa, keys(isa, lanes, width), q)];
    let [mut x, mut y] = pair::rounds(isa, start, DOUBLE_ROUNDS, ());
    // The rounds take all registers. Places may wait in memory; keys are gathered again.
    let lanes = black_box(lanes);
    let start = matrices(isa, keys(isa, lanes, 0), p);
    for i in 0..16 {
        x[i] = isa.add(x[i], start[i]);
    }
    put_blocks(isa, x, 0, sink);
    let start = matrices(isa, keys(isa, lanes, width), q);
    for i in 0..16 {
        y[i] = isa.add(y[i], start[i]);
    }
    put_blocks(isa, y, 64 * width, sink);
}

/// The matrices, one word of each lane in each vector.
#[inline(always)]
fn matrices<I: Isa>(isa: I, keys: [I::V; 8], places: [I::V; 4]) -> [I::V; 16] {
    let [a, b, c, d] = CONSTANTS;
    let [a, b, c, d] = [isa.splat(a), isa.splat(b), isa.splat(c), isa.splat(d)];
    let ([e, f, g, h, i, j, k, l], [m, n, o, p]) = (keys, places);
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

/// The rows of the keys.
#[inline(always)]
fn keys<I: Isa>(isa: I, lanes: Lanes<'_>, at: usize) -> [I::V; 8] {
    match lanes.keys {
        Keys::One(key) => {
            let [a, b, c, d, e, f, g, h] = words(key);
            let [a, b, c, d] = [isa.splat(a), isa.splat(b), isa.splat(c), isa.splat(d)];
            let [e, f, g, h] = [isa.splat(e), isa.splat(f), isa.splat(g), isa.splat(h)];
            [a, b, c, d, e, f, g, h]
        }
        Keys::Each(keys) => {
            let half = |lane: usize, half: usize| words(&keys[lane].as_chunks::<16>().0[half]);
            let [a, b, c, d] = gather(isa, |lane| half(at + lane, 0));
            let [e, f, g, h] = gather(isa, |lane| half(at + lane, 1));
            [a, b, c, d, e, f, g, h]
        }
    }
}

/// The last row.
#[inline(always)]
fn places<I: Isa>(isa: I, lanes: Lanes<'_>, at: usize) -> [I::V; 4] {
    gather(isa, |lane| lanes.places[at + lane].0)
}

/// The four words of a row, one of each lane in each vector.
#[inline(always)]
fn gather<I: Isa>(isa: I, row: impl Fn(usize) -> [u32; 4]) -> [I::V; 4] {
    let rows = |j: usize| isa.rows(|quad| row(4 * quad + j));
    isa.transpose_words([rows(0), rows(1), rows(2), rows(3)])
}

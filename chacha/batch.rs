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
use super::wide::{put_blocks, rounds};
use super::{CONSTANTS, DOUBLE_ROUNDS, State, words};

/// The lanes of the longest pass.
pub(crate) const MOST_LANES: usize = 32;

/// Room for a block of each lane.
pub(crate) type Blocks = [[u8; 64]; MOST_LANES];

/// The last row of a matrix of ChaCha20: which block, under which nonce.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(super) counter: u64,
    pub(super) nonce: u64,
}

impl Place {
    /// Block 0 under a 96-bit nonce, which is read as [`State::with_nonce_96`] reads it.
    #[inline(always)]
    pub(crate) fn start(nonce: &[u8; 12]) -> Self {
        let [a, b, c] = words(nonce).map(u64::from);
        Self { counter: a << 32, nonce: c << 32 | b }
    }

    /// A block further on.
    #[inline(always)]
    pub(crate) fn block(self, number: u64) -> Self {
        Self { counter: self.counter.wrapping_add(number), ..self }
    }

    pub(super) fn row(self) -> [u32; 4] {
        let [low, high] = [self.counter as u32, (self.counter >> 32) as u32];
        [low, high, self.nonce as u32, (self.nonce >> 32) as u32]
    }
}

/// The keys of lanes.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    One(&'a [u8; 32]),
    /// As many as there are lanes.
    Each(&'a [&'a [u8; 32]]),
}

/// Lanes: a block of ChaCha20 each.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<'a> {
    pub(crate) keys: Keys<'a>,
    pub(crate) places: &'a [Place],
}

impl Lanes<'_> {
    pub(super) fn len(self) -> usize {
        self.places.len()
    }

    /// The first `mid` lanes, or all, and the rest.
    #[inline(always)]
    fn split_at(self, mid: usize) -> (Self, Self) {
        let mid = mid.min(self.len());
        let (places, other_places) = self.places.split_at(mid);
        let (keys, other_keys) = match self.keys {
            Keys::One(key) => (Keys::One(key), Keys::One(key)),
            Keys::Each(keys) => {
                let (keys, other_keys) = keys.split_at(mid);
                (Keys::Each(keys), Keys::Each(other_keys))
            }
        };
        (Self { keys, places }, Self { keys: other_keys, places: other_places })
    }

    /// The state of a lane at its block.
    pub(super) fn state(self, lane: usize) -> State {
        let key = match self.keys {
            Keys::One(key) => key,
            Keys::Each(keys) => keys[lane],
        };
        let Place { counter, nonce } = self.places[lane];
        State::new(key, counter, nonce, DOUBLE_ROUNDS)
    }
}

/// Writes the block of each lane, in their order. What `blocks` holds beyond is keystream too.
#[inline(always)]
pub(super) fn lanes<I: Isa>(isa: I, mut lanes: Lanes<'_>, blocks: &mut Blocks) {
    assert!(lanes.len() <= MOST_LANES);
    let width = 4 * I::QUADS;
    for blocks in blocks.chunks_exact_mut(width) {
        let (now, rest) = lanes.split_at(width);
        if now.len() == 0 {
            break;
        }
        pass(isa, now, &mut Keystream(blocks.as_flattened_mut()));
        lanes = rest;
    }
}

/// As [`lanes`], by two passes in step where there is more than one.
#[inline(always)]
pub(super) fn lanes_in_pairs<I: InOrder>(isa: I, lanes: Lanes<'_>, blocks: &mut Blocks) {
    const { assert!(8 * I::QUADS == MOST_LANES) };
    let sink = &mut Keystream(blocks.as_flattened_mut());
    let (a, b) = lanes.split_at(4 * I::QUADS);
    if b.len() > 0 {
        pair_pass(isa, a, b, sink);
    } else if a.len() > 0 {
        pass(isa, a, sink);
    }
}

/// A vertical pass. Vector lanes that are left over do the last one's work again.
#[inline(always)]
fn pass<I: Isa>(isa: I, lanes: Lanes<'_>, sink: &mut Keystream<'_>) {
    let start = start(isa, lanes);
    let mut x = rounds(isa, start, DOUBLE_ROUNDS, || ());
    for i in 0..16 {
        x[i] = isa.add(x[i], start[i]);
    }
    put_blocks(isa, x, 0, sink);
}

/// Two of them in step.
#[inline(always)]
fn pair_pass<I: InOrder>(isa: I, a: Lanes<'_>, b: Lanes<'_>, sink: &mut Keystream<'_>) {
    let mut x = pair::rounds(isa, [start(isa, a), start(isa, b)], DOUBLE_ROUNDS);
    // Gathered again, since the rounds take all registers, and what waits in memory is secret.
    let again = black_box([a, b]);
    for (x, lanes) in x.iter_mut().zip(again) {
        let start = start(isa, lanes);
        for i in 0..16 {
            x[i] = isa.add(x[i], start[i]);
        }
    }
    let [x, y] = x;
    put_blocks(isa, x, 0, sink);
    put_blocks(isa, y, 64 * 4 * I::QUADS, sink);
}

/// The matrices, one word of each lane in each vector.
#[inline(always)]
fn start<I: Isa>(isa: I, lanes: Lanes<'_>) -> [I::V; 16] {
    let mut start = [isa.splat(0); 16];
    for i in 0..4 {
        start[i] = isa.splat(CONSTANTS[i]);
    }
    match lanes.keys {
        Keys::One(key) => {
            let key: [u32; 8] = words(key);
            for i in 0..8 {
                start[4 + i] = isa.splat(key[i]);
            }
        }
        Keys::Each(keys) => {
            let half = |lane: usize, half: usize| words(&keys[lane].as_chunks::<16>().0[half]);
            [start[4], start[5], start[6], start[7]] = gather(isa, lanes.len(), |i| half(i, 0));
            [start[8], start[9], start[10], start[11]] = gather(isa, lanes.len(), |i| half(i, 1));
        }
    }
    [start[12], start[13], start[14], start[15]] =
        gather(isa, lanes.len(), |i| lanes.places[i].row());
    start
}

/// The four words of a row, one of each lane in each vector.
#[inline(always)]
fn gather<I: Isa>(isa: I, lanes: usize, row: impl Fn(usize) -> [u32; 4]) -> [I::V; 4] {
    let rows = |j: usize| isa.rows(|quad| row((4 * quad + j).min(lanes - 1)));
    isa.transpose_words([rows(0), rows(1), rows(2), rows(3)])
}

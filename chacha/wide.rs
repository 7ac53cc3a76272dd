//! Vertical kernel body: one word of the state per vector, one block per 32-bit lane.
//!
//! ```text
//!            lane 0     lane 1     ...   lane 4Q-1        Q = 128-bit lanes of a vector
//! x[0]     | "expa"   | "expa"   | ...
//!  ...
//! x[12]    | ctr      | ctr + 1  | ...  | ctr + 4Q - 1 |
//!  ...
//! x[15]    | nonce    | nonce    | ...
//! ```
//!
//! No word has to move during the rounds. At the end, two transposes bring the words of each block
//! together: of the 4 x 4 words in each 128-bit lane, then of the 128-bit lanes themselves. Lane `l` of a
//! 128-bit lane `q` has block `4q + l`.

use core::hint;

use zeroize::Zeroize;

use super::State;
use super::data::{Data, Sink};
use super::isa::{Isa, quarter_rounds};
use super::pair::InOrder;
use super::shapes::record;
use super::woven::{Lead, weave};

/// Puts the keystream of `4 * QUADS` blocks from block `first` on to `sink`.
#[inline(always)]
pub(crate) fn pass<I: Isa, S: Sink>(isa: I, state: &State, first: u64, sink: &mut S) {
    pass_with(isa, state, first, sink, || ());
}

/// What happens between the rounds. A trait and not a closure: what has vectors in it must be inlined.
pub(crate) trait Between {
    /// After a quarter, 0 to 3, of each double round; an eighth, 0 to 7, where two passes run in step.
    fn at(&mut self, part: usize);
}

impl<F: FnMut()> Between for F {
    #[inline(always)]
    fn at(&mut self, _part: usize) {
        self();
    }
}

/// As [`pass`], and calls `between` four times in each double round: work for the integer units,
/// which the rounds leave idle.
#[inline(always)]
pub(crate) fn pass_with<I: Isa, S: Sink>(
    isa: I,
    state: &State,
    first: u64,
    sink: &mut S,
    between: impl Between,
) {
    record("vertical", 4 * I::QUADS);
    let x = words(isa, state, first, between);
    put_blocks(isa, x, 0, sink);
}

/// As [`pass`], from the block behind `first` on; that one goes to `lead`.
#[inline(always)]
pub(super) fn woven_pass<I: InOrder, S: Sink>(
    isa: I,
    state: &State,
    first: u64,
    lead: &mut [u8; 64],
    sink: &mut S,
) {
    record("woven vertical", 4 * I::QUADS);
    let mut lead = Lead::new(state, first, lead);
    let counters = isa.count_lanes(state.counter.wrapping_add(first).wrapping_add(1));
    let mut x = matrix(isa, state.words(0), counters);
    weave!(state.double_rounds, lead, x = columns(isa, x), x = diagonals(isa, x), {
        isa.tie(&mut x[4], &mut lead.x[4]);
        isa.tie(&mut x[5], &mut lead.x[5]);
        isa.tie(&mut x[6], &mut lead.x[6]);
        isa.tie(&mut x[7], &mut lead.x[7]);
    });
    // Loaded again: kept in registers, the words would push out those of the block apart.
    let words = hint::black_box(state).words(0);
    put_blocks(isa, feed_forward(isa, x, words, counters), 0, sink);
}

/// The keystream of a pass, one word of each block to a vector.
#[inline(always)]
fn words<I: Isa>(isa: I, state: &State, first: u64, between: impl Between) -> [I::V; 16] {
    let counters = isa.count_lanes(state.counter.wrapping_add(first));
    let x = isa.rounds(matrix(isa, state.words(0), counters), state.double_rounds, between);
    // Loaded again: kept in registers, the key would be spilled to the stack as a whole.
    feed_forward(isa, x, hint::black_box(state).words(0), counters)
}

/// The matrix, a word of it in each vector; words 12 and 13 are each lane's own.
#[inline(always)]
pub(super) fn matrix<I: Isa>(isa: I, words: [u32; 16], (low, high): (I::V, I::V)) -> [I::V; 16] {
    let mut x = [isa.splat(words[0]); 16];
    for i in 1..16 {
        x[i] = isa.splat(words[i]);
    }
    (x[12], x[13]) = (low, high);
    x
}

#[inline(always)]
pub(super) fn feed_forward<I: Isa>(
    isa: I,
    mut x: [I::V; 16],
    words: [u32; 16],
    (low, high): (I::V, I::V),
) -> [I::V; 16] {
    for i in 0..16 {
        let start = match i {
            12 => low,
            13 => high,
            _ => isa.splat(words[i]),
        };
        x[i] = isa.add(x[i], start);
    }
    x
}

#[inline(always)]
fn columns<I: Isa>(isa: I, x: [I::V; 16]) -> [I::V; 16] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
    let [[a, e, i, m], [b, f, j, n], [c, g, k, o], [d, h, l, p]] =
        quarter_rounds(isa, [[a, e, i, m], [b, f, j, n], [c, g, k, o], [d, h, l, p]]);
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

#[inline(always)]
fn diagonals<I: Isa>(isa: I, x: [I::V; 16]) -> [I::V; 16] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
    let [[a, f, k, p], [b, g, l, m], [c, h, i, n], [d, e, j, o]] =
        quarter_rounds(isa, [[a, f, k, p], [b, g, l, m], [c, h, i, n], [d, e, j, o]]);
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

/// The rounds without the feed-forward.
#[inline(always)]
pub(super) fn rounds<I: Isa>(
    isa: I,
    mut x: [I::V; 16],
    double_rounds: u32,
    mut between: impl Between,
) -> [I::V; 16] {
    macro_rules! side_by_side {
        ($([$a:literal $b:literal $c:literal $d:literal])*) => {
            [$([x[$a], x[$b], x[$c], x[$d]]),*] =
                quarter_rounds(isa, [$([x[$a], x[$b], x[$c], x[$d]]),*]);
        };
    }
    macro_rules! one_by_one {
        ($([$a:literal $b:literal $c:literal $d:literal])*) => {
            $(side_by_side!([$a $b $c $d]);)*
        };
    }
    for _ in 0..double_rounds {
        if I::SIDE_BY_SIDE {
            side_by_side!([0 4 8 12] [1 5 9 13] [2 6 10 14] [3 7 11 15]);
            between.at(0);
            between.at(1);
            side_by_side!([0 5 10 15] [1 6 11 12] [2 7 8 13] [3 4 9 14]);
            between.at(2);
            between.at(3);
        } else {
            one_by_one!([0 4 8 12] [1 5 9 13]);
            between.at(0);
            one_by_one!([2 6 10 14] [3 7 11 15]);
            between.at(1);
            one_by_one!([0 5 10 15] [1 6 11 12]);
            between.at(2);
            one_by_one!([2 7 8 13] [3 4 9 14]);
            between.at(3);
        }
    }
    x
}

/// Puts the blocks to `sink`, one after the other, from byte `at` on: that of lane 0 first.
///
/// Written out, since the compiler would keep arrays that it has to index on the stack.
#[inline(always)]
pub(super) fn put_blocks<I: Isa, S: Sink>(isa: I, x: [I::V; 16], at: usize, sink: &mut S) {
    let [a0, a1, a2, a3] = isa.transpose_words([x[0], x[1], x[2], x[3]]);
    let [b0, b1, b2, b3] = isa.transpose_words([x[4], x[5], x[6], x[7]]);
    let [c0, c1, c2, c3] = isa.transpose_words([x[8], x[9], x[10], x[11]]);
    let [d0, d1, d2, d3] = isa.transpose_words([x[12], x[13], x[14], x[15]]);
    // Now each vector holds a row of the blocks j, j + 4, ... in its 128-bit lanes.
    put_column(isa, at, [a0, b0, c0, d0], sink);
    put_column(isa, at + 64, [a1, b1, c1, d1], sink);
    put_column(isa, at + 128, [a2, b2, c2, d2], sink);
    put_column(isa, at + 192, [a3, b3, c3, d3], sink);
}

/// Puts every fourth block to `sink`, the first at byte `at`, their four rows in a vector each.
#[inline(always)]
fn put_column<I: Isa, S: Sink>(isa: I, at: usize, rows: [I::V; 4], sink: &mut S) {
    // Of the vector's place among those of this column: which block, and where in it.
    let place = |i: usize| at + 4 * 64 * (i * I::BYTES / 64) + i * I::BYTES % 64;
    let [a, b, c, d] = isa.transpose_quads(rows);
    sink.put_vector(isa, place(0), a);
    sink.put_vector(isa, place(1), b);
    sink.put_vector(isa, place(2), c);
    sink.put_vector(isa, place(3), d);
}

/// As many passes as `data` has room for, at least 1: the keystream of each waits in memory, and is
/// transposed and put to the data between the double rounds of the next, whose rotations leave the
/// shuffle unit idle.
///
/// ```text
/// double round    0       1       2       3       4         5         6         7         8 ...
/// last pass       row 0   row 1   row 2   row 3   blocks 0  blocks 1  blocks 2  blocks 3
/// ```
#[inline(always)]
pub(super) fn pipelined<I: Isa, D: Data>(isa: I, state: &State, mut first: u64, data: &mut D) {
    let pass = 64 * 4 * I::QUADS;
    record("pipelined", data.len() / 64);
    let mut waiting = Waiting([[0; 64]; 16]);
    waiting.hold(isa, words(isa, state, first, || ()));
    let mut at = 0;
    while data.len() - at >= 2 * pass {
        first = first.wrapping_add(4 * I::QUADS as u64);
        let mut last = Last { isa, waiting: &mut waiting, sink: data.window(at, pass), step: 0 };
        let next = words(isa, state, first, &mut last);
        last.finish();
        waiting.hold(isa, next);
        at += pass;
    }
    Last { isa, waiting: &mut waiting, sink: data.window(at, pass), step: 0 }.finish();
    waiting.0.as_flattened_mut().zeroize();
}

/// The keystream of a pass that has yet to be transposed, a vector to an entry.
#[repr(align(64))]
struct Waiting([[u8; 64]; 16]);

impl Waiting {
    #[inline(always)]
    fn hold<I: Isa>(&mut self, isa: I, x: [I::V; 16]) {
        for (bytes, x) in self.0.iter_mut().zip(x) {
            isa.store(bytes, x);
        }
    }
}

/// The pass before: what of it has yet to be done.
struct Last<'a, I, S> {
    isa: I,
    waiting: &'a mut Waiting,
    sink: S,
    step: usize,
}

impl<I: Isa, S: Sink> Last<'_, I, S> {
    /// Step 0 to 3: the words of a row. 4 to 7: four rows, and on to the data. There are no more.
    #[inline(always)]
    fn step(&mut self) {
        let (isa, j) = (self.isa, self.step % 4);
        if self.step < 4 {
            let rows = &mut self.waiting.0.as_chunks_mut::<4>().0[j];
            let x =
                [isa.load(&rows[0]), isa.load(&rows[1]), isa.load(&rows[2]), isa.load(&rows[3])];
            let x = isa.transpose_words(x);
            for i in 0..4 {
                isa.store(&mut rows[i], x[i]);
            }
        } else if self.step < 8 {
            let x = &self.waiting.0;
            let rows =
                [isa.load(&x[j]), isa.load(&x[4 + j]), isa.load(&x[8 + j]), isa.load(&x[12 + j])];
            put_column(isa, 64 * j, rows, &mut self.sink);
        }
        self.step += 1;
    }

    /// The steps that are left: all, or those beyond the double rounds of ChaCha8 and ChaCha12.
    #[inline(always)]
    fn finish(mut self) {
        while self.step < 8 {
            self.step();
        }
    }
}

impl<I: Isa, S: Sink> Between for &mut Last<'_, I, S> {
    #[inline(always)]
    fn at(&mut self, quarter: usize) {
        if quarter == 0 {
            self.step();
        }
    }
}

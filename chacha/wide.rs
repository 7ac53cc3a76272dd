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

use super::State;
use super::data::Sink;
use super::isa::{Isa, quarter_rounds};

/// Puts the keystream of `4 * QUADS` blocks from block `first` on to `sink`.
#[inline(always)]
pub(crate) fn pass<I: Isa, S: Sink>(isa: I, state: &State, first: u64, sink: &mut S) {
    pass_with(isa, state, first, sink, || ());
}

/// As [`pass`], and calls `between` four times in each double round: work for the integer units,
/// which the rounds leave idle.
#[inline(always)]
pub(crate) fn pass_with<I: Isa, S: Sink>(
    isa: I,
    state: &State,
    first: u64,
    sink: &mut S,
    between: impl FnMut(),
) {
    let words = state.words(0);
    let mut x = [isa.splat(words[0]); 16];
    for i in 1..16 {
        x[i] = isa.splat(words[i]);
    }
    let (low, high) = isa.count_lanes(state.counter.wrapping_add(first));
    (x[12], x[13]) = (low, high);

    x = rounds(isa, x, state.double_rounds, between);
    for i in 0..16 {
        let start = match i {
            12 => low,
            13 => high,
            _ => isa.splat(words[i]),
        };
        x[i] = isa.add(x[i], start);
    }
    put_blocks(isa, x, sink);
}

/// The rounds without the feed-forward.
#[inline(always)]
pub(super) fn rounds<I: Isa>(
    isa: I,
    mut x: [I::V; 16],
    double_rounds: u32,
    mut between: impl FnMut(),
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
            between();
            between();
            side_by_side!([0 5 10 15] [1 6 11 12] [2 7 8 13] [3 4 9 14]);
            between();
            between();
        } else {
            one_by_one!([0 4 8 12] [1 5 9 13]);
            between();
            one_by_one!([2 6 10 14] [3 7 11 15]);
            between();
            one_by_one!([0 5 10 15] [1 6 11 12]);
            between();
            one_by_one!([2 7 8 13] [3 4 9 14]);
            between();
        }
    }
    x
}

/// Puts the blocks to `sink`, one after the other: that of lane 0 first.
#[inline(always)]
pub(super) fn put_blocks<I: Isa, S: Sink>(isa: I, mut x: [I::V; 16], sink: &mut S) {
    for i in [0, 4, 8, 12] {
        [x[i], x[i + 1], x[i + 2], x[i + 3]] =
            isa.transpose_words([x[i], x[i + 1], x[i + 2], x[i + 3]]);
    }
    // Now x[4 * row + j] holds that row of the blocks j, j + 4, ... in its 128-bit lanes.
    for j in 0..4 {
        let blocks = isa.transpose_quads([x[j], x[4 + j], x[8 + j], x[12 + j]]);
        for (i, keystream) in blocks.into_iter().enumerate() {
            let (quad, offset) = (i * I::BYTES / 64, i * I::BYTES % 64);
            sink.put_vector(isa, (j + 4 * quad) * 64 + offset, keystream);
        }
    }
}

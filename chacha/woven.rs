//! A block apart in general-purpose registers, woven into the rounds of a vector pass.
//!
//! ```text
//! vector units    | rounds 0 1 2 3 4 5 6 | 7 8 9            | transpose, on to the data
//! integer units   | all ten of the block | what it is for   |
//! ```
//!
//! 1. The rounds of one pass leave the integer units idle, and a block in their registers takes less time:
//!    it costs a pass next to nothing, and is there before the pass is.
//! 2. Each half round of the one is tied to half rounds of the other. The compiler would put all of the
//!    vectors first, and then they stand in the way: what waits behind them is more than a core has under
//!    way at a time (Zen 5, 1 KiB: 922 cycles to seal, 837 tied).

use super::State;
use super::backend::scalar::{self, alone, quarter_round};
use super::wide::Between;

/// The block apart. On its way it is in no memory but what the compiler spills.
pub(super) struct Lead<'a> {
    start: [u32; 16],
    pub(super) x: [u32; 16],
    out: &'a mut [u8; 64],
}

impl<'a> Lead<'a> {
    #[inline(always)]
    pub(super) fn new(state: &State, number: u64, out: &'a mut [u8; 64]) -> Self {
        let start = state.words(number);
        Self { start, x: start, out }
    }

    #[inline(always)]
    pub(super) fn columns(&mut self) {
        scalar::columns(&mut self.x);
    }

    #[inline(always)]
    pub(super) fn diagonals(&mut self) {
        scalar::diagonals(&mut self.x);
    }

    /// One of the eight quarter rounds of a double round; returns the word that it writes last.
    #[inline(always)]
    pub(super) fn quarter_round(&mut self, i: usize) -> usize {
        const WORDS: [[usize; 4]; 8] = [
            [0, 4, 8, 12],
            [1, 5, 9, 13],
            [2, 6, 10, 14],
            [3, 7, 11, 15],
            [0, 5, 10, 15],
            [1, 6, 11, 12],
            [2, 7, 8, 13],
            [3, 4, 9, 14],
        ];
        let [a, b, c, d] = WORDS[i];
        quarter_round(&mut self.x, a, b, c, d);
        b
    }

    #[inline(always)]
    pub(super) fn finish(self) {
        let words = self.out.as_chunks_mut().0.iter_mut();
        for (word, (x, start)) in words.zip(self.x.into_iter().zip(self.start)) {
            *word = alone(x.wrapping_add(start)).to_le_bytes();
        }
    }
}

/// A block apart in the slots of a pass that has four of them in each double round, or eight.
pub(super) struct Slots<'l, 'a, const SLOTS: usize>(pub(super) &'l mut Lead<'a>);

impl<const SLOTS: usize> Between for Slots<'_, '_, SLOTS> {
    #[inline(always)]
    fn at(&mut self, slot: usize) {
        for i in 0..8 / SLOTS {
            self.0.quarter_round(slot * (8 / SLOTS) + i);
        }
    }
}

/// So many double rounds of a pass, and three of the block apart beside each two of the first. A macro,
/// since the compiler leaves a closure that is called in several places out of line.
macro_rules! weave {
    ($double_rounds:expr, $lead:ident, $columns:expr, $diagonals:expr, $tie:expr) => {{
        let (mut left, mut apart) = ($double_rounds, $double_rounds);
        while apart >= 3 {
            $columns;
            $lead.columns();
            $tie;
            $lead.diagonals();
            $tie;
            $diagonals;
            $lead.columns();
            $tie;
            $columns;
            $lead.diagonals();
            $tie;
            $lead.columns();
            $tie;
            $diagonals;
            $lead.diagonals();
            $tie;
            (left, apart) = (left - 2, apart - 3);
        }
        while apart > 0 {
            $columns;
            $lead.columns();
            $tie;
            $diagonals;
            $lead.diagonals();
            $tie;
            (left, apart) = (left - 1, apart - 1);
        }
        $lead.finish();
        while left > 0 {
            $columns;
            $diagonals;
            left -= 1;
        }
    }};
}

pub(super) use weave;

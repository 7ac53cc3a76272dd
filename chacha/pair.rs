//! Vertical kernel body for two passes at once, where one leaves the vector units waiting.
//!
//! On Zen 5 a vector operation takes two cycles and four can start in each, two of them rotations.
//! The four quarter rounds of one pass are half of that; those of two passes are all of it, if no
//! cycle is lost: the first pass is half a step ahead of the second, and the quarter rounds that the
//! next half round waits for first are a cycle ahead of the others.
//!
//! ```text
//! cycle of a step             0        1        2        3        4        5
//! first pass, early pair      add               xor               rotate
//! first pass, late pair                add               xor               rotate
//! second pass, early pair              rotate            add               xor
//! second pass, late pair      xor               rotate            add
//! ```
//!
//! The state of both takes all 32 registers. So every operation is done in the register of its first
//! operand, and the feed-forward takes its words from memory.

use super::State;
use super::data::Sink;
use super::isa::Isa;
use super::shapes::record;
use super::wide::put_blocks;

/// Operations that are done in the register of their first operand, and in the order of the source
/// among each other.
pub(super) trait InOrder: Isa {
    fn add_to(self, to: &mut Self::V, v: Self::V);
    fn xor_to(self, to: &mut Self::V, v: Self::V);
    fn rotl<const N: i32>(self, v: &mut Self::V);
}

/// Puts the keystream of `8 * QUADS` blocks from block `first` on to `sink`.
#[inline(always)]
pub(super) fn pass<I: InOrder, S: Sink>(isa: I, state: &State, first: u64, sink: &mut S) {
    record("pair", 8 * I::QUADS);
    let words = state.words(0);
    let mut x = [isa.splat(words[0]); 16];
    for i in 1..16 {
        x[i] = isa.splat(words[i]);
    }
    let mut x = [x, x];
    let counter = state.counter.wrapping_add(first);
    let counters =
        [isa.count_lanes(counter), isa.count_lanes(counter.wrapping_add(4 * I::QUADS as u64))];
    for (x, (low, high)) in x.iter_mut().zip(counters) {
        (x[12], x[13]) = (low, high);
    }
    let mut x = rounds(isa, x, state.double_rounds);
    for (x, (low, high)) in x.iter_mut().zip(counters) {
        for i in 0..16 {
            let start = match i {
                12 => low,
                13 => high,
                _ => isa.splat(words[i]),
            };
            x[i] = isa.add(x[i], start);
        }
    }
    let [x, y] = x;
    put_blocks(isa, x, 0, sink);
    put_blocks(isa, y, 64 * 4 * I::QUADS, sink);
}

/// The rounds without the feed-forward.
#[inline(always)]
pub(super) fn rounds<I: InOrder>(
    isa: I,
    [mut x, mut y]: [[I::V; 16]; 2],
    double_rounds: u32,
) -> [[I::V; 16]; 2] {
    macro_rules! add {
        ($x:ident $to:literal $from:literal) => {{
            let from = $x[$from];
            isa.add_to(&mut $x[$to], from)
        }};
    }
    macro_rules! xor {
        ($x:ident $to:literal $from:literal) => {{
            let from = $x[$from];
            isa.xor_to(&mut $x[$to], from)
        }};
    }
    macro_rules! rotl {
        ($x:ident $rotl:literal $i:literal) => {
            isa.rotl::<$rotl>(&mut $x[$i])
        };
    }
    // A step of pass `x`; of pass `y` the end of the step before and the beginning of the same.
    macro_rules! step {
        (
            $a0:literal += $b0:literal, $a1:literal += $b1:literal, $a2:literal += $b2:literal, $a3:literal += $b3:literal;
            $d0:literal $d1:literal $d2:literal $d3:literal $rotl:literal;
            $(
            $pa0:literal $pa1:literal $pa2:literal $pa3:literal;
            $pd0:literal $pd1:literal $pd2:literal $pd3:literal $protl:literal
            )?
        ) => {
            add!(x $a0 $b0);
            $( xor!(y $pd2 $pa2); )?
            add!(x $a1 $b1);
            $( xor!(y $pd3 $pa3); )?

            add!(x $a2 $b2);
            $( rotl!(y $protl $pd0); )?
            add!(x $a3 $b3);
            $( rotl!(y $protl $pd1); )?

            xor!(x $d0 $a0);
            $( rotl!(y $protl $pd2); )?
            xor!(x $d1 $a1);
            $( rotl!(y $protl $pd3); )?

            add!(y $a0 $b0);
            xor!(x $d2 $a2);
            add!(y $a1 $b1);
            xor!(x $d3 $a3);

            add!(y $a2 $b2);
            rotl!(x $rotl $d0);
            add!(y $a3 $b3);
            rotl!(x $rotl $d1);

            xor!(y $d0 $a0);
            rotl!(x $rotl $d2);
            xor!(y $d1 $a1);
            rotl!(x $rotl $d3);
        };
    }
    for _ in 0..double_rounds {
        // Early: quarter rounds [0 4 8 12] and [1 5 9 13].
        step!(0 += 4, 1 += 5, 2 += 6, 3 += 7; 12 13 14 15 16; );
        step!(8 += 12, 9 += 13, 10 += 14, 11 += 15; 4 5 6 7 12;
              0 1 2 3; 12 13 14 15 16);
        step!(0 += 4, 1 += 5, 2 += 6, 3 += 7; 12 13 14 15 8;
              8 9 10 11; 4 5 6 7 12);
        step!(8 += 12, 9 += 13, 10 += 14, 11 += 15; 4 5 6 7 7;
              0 1 2 3; 12 13 14 15 8);
        // Early: quarter rounds [3 4 9 14] and [0 5 10 15], whose words 4 and 5 are ready first.
        step!(3 += 4, 0 += 5, 1 += 6, 2 += 7; 14 15 12 13 16;
              8 9 10 11; 4 5 6 7 7);
        step!(9 += 14, 10 += 15, 11 += 12, 8 += 13; 4 5 6 7 12;
              3 0 1 2; 14 15 12 13 16);
        step!(3 += 4, 0 += 5, 1 += 6, 2 += 7; 14 15 12 13 8;
              9 10 11 8; 4 5 6 7 12);
        step!(9 += 14, 10 += 15, 11 += 12, 8 += 13; 4 5 6 7 7;
              3 0 1 2; 14 15 12 13 8);
        // The end of the last step of pass `y`.
        xor!(y 6 11);
        xor!(y 7 8);
        rotl!(y 7 4);
        rotl!(y 7 5);
        rotl!(y 7 6);
        rotl!(y 7 7);
    }
    [x, y]
}

//! Vertical kernel body for two passes at once, where one leaves the vector units waiting.
//!
//! On Zen 5 a vector operation takes two cycles and four can start in each, two of them rotations.
//! The four quarter rounds of one pass are half of that; those of two passes are all of it, if no
//! cycle is lost. So no two kinds of operation that want the same pipes come together: the quarter
//! rounds that the next half round waits for first are half a step ahead of the others.
//!
//! ```text
//! early, of both passes    add      .      xor      .      rotate   .
//! late, of both passes     .      rotate   .      add      .      xor
//! ```
//!
//! The state of both takes all 32 registers. So every operation is done in the register of its first
//! operand, and the feed-forward takes its words from memory.

use core::hint;

use super::State;
use super::data::Sink;
use super::isa::Isa;
use super::shapes::record;
use super::wide::put_blocks;
use super::woven::Lead;

/// Operations that are done in the register of their first operand, and in the order of the source
/// among each other.
pub(super) trait InOrder: Isa {
    fn add_to(self, to: &mut Self::V, v: Self::V);
    fn xor_to(self, to: &mut Self::V, v: Self::V);
    fn rotl<const N: i32>(self, v: &mut Self::V);

    /// Keeps what comes before, of a vector and of a word, before what comes after.
    fn tie(self, v: &mut Self::V, word: &mut u32);
}

/// The words of two passes.
type Pair<I> = [[<I as Isa>::V; 16]; 2];

/// Their words 12 and 13 at the start.
type Counters<I> = [(<I as Isa>::V, <I as Isa>::V); 2];

/// Puts the keystream of `8 * QUADS` blocks from block `first` on to `sink`.
#[inline(always)]
pub(super) fn pass<I: InOrder, S: Sink>(isa: I, state: &State, first: u64, sink: &mut S) {
    record("pair", 8 * I::QUADS);
    let (x, counters) = start(isa, state, first);
    let x = rounds(isa, x, state.double_rounds, ());
    feed_forward(isa, state, x, counters, sink);
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
    record("woven pair", 8 * I::QUADS);
    let mut lead = Lead::new(state, first, lead);
    let (x, counters) = start(isa, state, first.wrapping_add(1));
    let x = rounds(isa, x, state.double_rounds, &mut lead);
    lead.finish();
    feed_forward(isa, state, x, counters, sink);
}

/// The matrices of two passes, and their counters.
#[inline(always)]
fn start<I: InOrder>(isa: I, state: &State, first: u64) -> (Pair<I>, Counters<I>) {
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
    (x, counters)
}

/// The feed-forward, and on to `sink`.
#[inline(always)]
fn feed_forward<I: InOrder, S: Sink>(
    isa: I,
    state: &State,
    mut x: Pair<I>,
    counters: Counters<I>,
    sink: &mut S,
) {
    // Loaded again: kept in registers, the words would push out the state.
    let words = hint::black_box(state).words(0);
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

/// What happens between the steps of the rounds.
pub(super) trait Between<I: InOrder> {
    /// After a step, 0 to 7, of each double round, and after what came before of `v`.
    fn at(&mut self, isa: I, step: usize, v: &mut I::V);
}

impl<I: InOrder> Between<I> for () {
    #[inline(always)]
    fn at(&mut self, _isa: I, _step: usize, _v: &mut I::V) {}
}

/// A quarter round of the block apart.
impl<I: InOrder> Between<I> for &mut Lead<'_> {
    #[inline(always)]
    fn at(&mut self, isa: I, step: usize, v: &mut I::V) {
        let i = self.quarter_round(step);
        isa.tie(v, &mut self.x[i]);
    }
}

/// The rounds without the feed-forward.
#[inline(always)]
pub(super) fn rounds<I: InOrder>(
    isa: I,
    [mut x, mut y]: [[I::V; 16]; 2],
    double_rounds: u32,
    mut between: impl Between<I>,
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
    // A step of all quarter rounds: `to += from`, then `word ^= to`, turned left by `by`. The late
    // ones still have to turn the words `turned` of the step before.
    macro_rules! step {
        (
            early [$e:literal += $f:literal, $g:literal] [$h:literal += $i:literal, $j:literal],
            late [$k:literal += $l:literal, $m:literal] [$n:literal += $o:literal, $p:literal],
            by $by:literal $(, turned $q:literal $r:literal by $before:literal)?
        ) => {
            add!(x $e $f);
            add!(x $h $i);
            add!(y $e $f);
            add!(y $h $i);
            $(
                rotl!(x $before $q);
                rotl!(x $before $r);
                rotl!(y $before $q);
                rotl!(y $before $r);
            )?
            xor!(x $g $e);
            xor!(x $j $h);
            xor!(y $g $e);
            xor!(y $j $h);
            add!(x $k $l);
            add!(x $n $o);
            add!(y $k $l);
            add!(y $n $o);
            rotl!(x $by $g);
            rotl!(x $by $j);
            rotl!(y $by $g);
            rotl!(y $by $j);
            xor!(x $m $k);
            xor!(x $p $n);
            xor!(y $m $k);
            xor!(y $p $n);
        };
    }
    let mut left = double_rounds;
    loop {
        step!(early [0 += 4, 12] [1 += 5, 13], late [2 += 6, 14] [3 += 7, 15], by 16);
        between.at(isa, 0, &mut x[12]);
        step!(early [8 += 12, 4] [9 += 13, 5], late [10 += 14, 6] [11 += 15, 7], by 12,
            turned 14 15 by 16);
        between.at(isa, 1, &mut x[4]);
        step!(early [0 += 4, 12] [1 += 5, 13], late [2 += 6, 14] [3 += 7, 15], by 8,
            turned 6 7 by 12);
        between.at(isa, 2, &mut x[12]);
        step!(early [8 += 12, 4] [9 += 13, 5], late [10 += 14, 6] [11 += 15, 7], by 7,
            turned 14 15 by 8);
        between.at(isa, 3, &mut x[4]);
        // Early are those now that begin with the words 4 and 5.
        step!(early [3 += 4, 14] [0 += 5, 15], late [1 += 6, 12] [2 += 7, 13], by 16,
            turned 6 7 by 7);
        between.at(isa, 4, &mut x[14]);
        step!(early [9 += 14, 4] [10 += 15, 5], late [11 += 12, 6] [8 += 13, 7], by 12,
            turned 12 13 by 16);
        between.at(isa, 5, &mut x[4]);
        step!(early [3 += 4, 14] [0 += 5, 15], late [1 += 6, 12] [2 += 7, 13], by 8,
            turned 6 7 by 12);
        between.at(isa, 6, &mut x[14]);
        step!(early [9 += 14, 4] [10 += 15, 5], late [11 += 12, 6] [8 += 13, 7], by 7,
            turned 12 13 by 8);
        between.at(isa, 7, &mut x[4]);
        rotl!(x 7 6);
        rotl!(x 7 7);
        rotl!(y 7 6);
        rotl!(y 7 7);
        // There is at least one: a loop that may not run costs moves.
        left -= 1;
        if left == 0 {
            return [x, y];
        }
    }
}

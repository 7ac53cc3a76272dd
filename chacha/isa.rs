//! What an instruction set must offer, so that the kernel bodies can be written once.
//!
//! An implementor is a *token*: a type that can only be made where its instructions may run, so
//! that a method needs no proof beyond its own receiver. A vector holds 32-bit words in
//! [`Isa::QUADS`] lanes of 128 bits; a *row* is one row of the state matrix (four words) in each
//! of these lanes.

use super::wide::{self, Between};

/// A token and the vector operations that it allows.
pub(crate) trait Isa: Copy {
    /// A vector of 32-bit words.
    type V: Copy;

    /// How many 128-bit lanes a vector has.
    const QUADS: usize;

    /// From how many blocks on one vertical pass costs less than row-wise chains; at most
    /// `3 * QUADS + 1`.
    const WIDE_FROM: usize;

    /// Whether the vertical body runs four quarter rounds step by step, or one after the other: what
    /// makes the compiler spill less.
    const SIDE_BY_SIDE: bool;

    /// The bytes of a vector.
    const BYTES: usize = 16 * Self::QUADS;

    /// The same word everywhere.
    fn splat(self, word: u32) -> Self::V;

    /// The same row in each 128-bit lane.
    fn row(self, words: [u32; 4]) -> Self::V;

    /// A row for each 128-bit lane, by the lane's number.
    fn rows(self, words: impl Fn(usize) -> [u32; 4]) -> Self::V;

    /// The last row of consecutive blocks, one to a 128-bit lane, the first at `counter`.
    fn last_row(self, counter: u64, nonce: u64) -> Self::V;

    /// The counters of consecutive blocks, one to a 32-bit lane, from `first` on: low and high
    /// words. The carry into the high word is each lane's own.
    fn count_lanes(self, first: u64) -> (Self::V, Self::V);

    /// The first `BYTES` of `bytes`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn load(self, bytes: &[u8]) -> Self::V;

    /// Stores to the first `BYTES` of `bytes`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn store(self, bytes: &mut [u8], v: Self::V);

    /// As [`Isa::load`], of as many bytes as there are; zeros follow. Where there are no masks, to ask for
    /// it does not compile.
    fn load_part(self, _bytes: &[u8]) -> Self::V {
        const { panic!("no masks: `Pieces` does it") }
    }

    /// As [`Isa::store`], to as many bytes as there are. Where there are no masks, to ask for it does not
    /// compile.
    fn store_part(self, _bytes: &mut [u8], _v: Self::V) {
        const { panic!("no masks: `Pieces` does it") }
    }

    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;

    /// Rotations of each word to the left, by the four amounts of the quarter round.
    fn rotl16(self, v: Self::V) -> Self::V;
    fn rotl12(self, v: Self::V) -> Self::V;
    fn rotl8(self, v: Self::V) -> Self::V;
    fn rotl7(self, v: Self::V) -> Self::V;

    /// The rounds of a vertical pass, without the feed-forward. `between` is called four times in each
    /// double round.
    #[inline(always)]
    fn rounds(self, x: [Self::V; 16], double_rounds: u32, between: impl Between) -> [Self::V; 16] {
        wide::rounds(self, x, double_rounds, between)
    }

    /// In each 128-bit lane, word `i` becomes word `i + 1`, `i + 2`, `i + 3` (mod 4).
    fn turn1(self, v: Self::V) -> Self::V;
    fn turn2(self, v: Self::V) -> Self::V;
    fn turn3(self, v: Self::V) -> Self::V;

    /// Transposes, in each 128-bit lane, the 4 x 4 words of four vectors.
    fn transpose_words(self, v: [Self::V; 4]) -> [Self::V; 4];

    /// Transposes the 128-bit lanes of four vectors: from row `i` of each block in vector `i` to
    /// whole blocks in the order of memory. Lane `q` belongs to the `q`-th block before, and the
    /// bytes of the `q`-th block stand together after.
    fn transpose_quads(self, v: [Self::V; 4]) -> [Self::V; 4];
}

/// A number that the compiler does not load together with what lies beside it. The parts of a state have
/// been stored one by one shortly before, and a load that spans two stores waits until both have left
/// the store buffer (Zen 5, AVX2, 128 bytes: 630 cycles and 500).
#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[cfg_attr(keyspring_no_asm, allow(unused_mut))]
pub(super) fn alone(mut number: u64) -> u64 {
    #[cfg(not(keyspring_no_asm))]
    // SAFETY: there is no instruction; the register goes in and comes out.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags));
    }
    number
}

/// The quarter round (RFC 8439, section 2.1) on four vectors.
#[inline(always)]
pub(crate) fn quarter_round<I: Isa>(isa: I, abcd: [I::V; 4]) -> [I::V; 4] {
    let [abcd] = quarter_rounds(isa, [abcd]);
    abcd
}

/// `N` quarter rounds, step by step.
#[inline(always)]
pub(crate) fn quarter_rounds<I: Isa, const N: usize>(
    isa: I,
    mut x: [[I::V; 4]; N],
) -> [[I::V; 4]; N] {
    macro_rules! step {
        ($to:literal += $from:literal, $xor:literal, $rotl:ident) => {
            for x in &mut x {
                x[$to] = isa.add(x[$to], x[$from]);
            }
            for x in &mut x {
                x[$xor] = isa.xor(x[$xor], x[$to]);
            }
            for x in &mut x {
                x[$xor] = isa.$rotl(x[$xor]);
            }
        };
    }
    step!(0 += 1, 3, rotl16);
    step!(2 += 3, 1, rotl12);
    step!(0 += 1, 3, rotl8);
    step!(2 += 3, 1, rotl7);
    x
}

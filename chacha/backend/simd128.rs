//! WebAssembly's 128-bit vectors, for modules that are compiled with them: an engine that has none
//! refuses such a module, so there is nothing to detect when it runs.

use core::arch::wasm32::{
    i32x4_add, i32x4_shl, i32x4_shuffle, i32x4_sub, i64x2_shuffle, u8x16_shuffle, u32x4, u32x4_lt,
    u32x4_shr, u32x4_splat, u64x2, u64x2_extract_lane, v128, v128_or, v128_xor,
};

use super::{Backend, Kernels};
use crate::chacha::batch::{self, Blocks, Lanes};
use crate::chacha::data::{Mode, mode};
use crate::chacha::isa::Isa;
use crate::chacha::{State, shapes};
use crate::cpu::Head;

pub(super) const ROW: Backend = Backend {
    head: Head { name: "simd128", level: 10, usable: || true },
    kernels: KERNELS,
    on_zen5: KERNELS.with_scalar_singles(),
};

const KERNELS: Kernels = Kernels {
    longest_pass: 4,
    single_block_goes_scalar: false,
    weaves_a_lead: false,
    in_place: run::<mode::InPlace>,
    apart: run::<mode::Apart>,
    keystream: run::<mode::Keystream>,
    lanes,
};

fn run<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    shapes::run(Simd128(()), state, first, lead, data);
}

fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes(Simd128(()), lanes, blocks);
}

/// The proof that vectors may be used: this file is compiled only where the target enables them.
#[derive(Clone, Copy)]
struct Simd128(());

#[inline(always)]
fn rotl(v: v128, left: u32) -> v128 {
    v128_or(i32x4_shl(v, left), u32x4_shr(v, 32 - left))
}

impl Isa for Simd128 {
    type V = v128;

    const QUADS: usize = 1;

    /// As with SSE2, which it becomes on x86-64.
    const WIDE_FROM: usize = 3;

    /// As with SSE2.
    const SIDE_BY_SIDE: bool = true;

    #[inline(always)]
    fn splat(self, word: u32) -> v128 {
        u32x4_splat(word)
    }

    #[inline(always)]
    fn row(self, [a, b, c, d]: [u32; 4]) -> v128 {
        u32x4(a, b, c, d)
    }

    #[inline(always)]
    fn rows(self, words: impl Fn(usize) -> [u32; 4]) -> v128 {
        self.row(words(0))
    }

    #[inline(always)]
    fn last_row(self, counter: u64, nonce: u64) -> v128 {
        u64x2(counter, nonce)
    }

    #[inline(always)]
    fn count_lanes(self, first: u64) -> (v128, v128) {
        let (low, high) = (self.splat(first as u32), self.splat((first >> 32) as u32));
        let sum = self.add(low, u32x4(0, 1, 2, 3));
        // A lane has a carry where its sum is below what it started from. The comparison gives -1
        // there and 0 elsewhere.
        (sum, i32x4_sub(high, u32x4_lt(sum, low)))
    }

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> v128 {
        let bytes = u128::from_le_bytes(*bytes.first_chunk().expect("a vector's bytes"));
        u64x2(bytes as u64, (bytes >> 64) as u64)
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8], v: v128) {
        let bytes = bytes.first_chunk_mut::<16>().expect("a vector's bytes");
        let (low, high) = (u64x2_extract_lane::<0>(v), u64x2_extract_lane::<1>(v));
        *bytes = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
    }

    #[inline(always)]
    fn add(self, a: v128, b: v128) -> v128 {
        i32x4_add(a, b)
    }

    #[inline(always)]
    fn xor(self, a: v128, b: v128) -> v128 {
        v128_xor(a, b)
    }

    #[inline(always)]
    fn rotl16(self, v: v128) -> v128 {
        u8x16_shuffle::<2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13>(v, v)
    }

    #[inline(always)]
    fn rotl12(self, v: v128) -> v128 {
        rotl(v, 12)
    }

    #[inline(always)]
    fn rotl8(self, v: v128) -> v128 {
        u8x16_shuffle::<3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14>(v, v)
    }

    #[inline(always)]
    fn rotl7(self, v: v128) -> v128 {
        rotl(v, 7)
    }

    #[inline(always)]
    fn turn1(self, v: v128) -> v128 {
        i32x4_shuffle::<1, 2, 3, 0>(v, v)
    }

    #[inline(always)]
    fn turn2(self, v: v128) -> v128 {
        i32x4_shuffle::<2, 3, 0, 1>(v, v)
    }

    #[inline(always)]
    fn turn3(self, v: v128) -> v128 {
        i32x4_shuffle::<3, 0, 1, 2>(v, v)
    }

    #[inline(always)]
    fn transpose_words(self, [a, b, c, d]: [v128; 4]) -> [v128; 4] {
        let low = |a, b| i32x4_shuffle::<0, 4, 1, 5>(a, b);
        let high = |a, b| i32x4_shuffle::<2, 6, 3, 7>(a, b);
        [
            i64x2_shuffle::<0, 2>(low(a, b), low(c, d)),
            i64x2_shuffle::<1, 3>(low(a, b), low(c, d)),
            i64x2_shuffle::<0, 2>(high(a, b), high(c, d)),
            i64x2_shuffle::<1, 3>(high(a, b), high(c, d)),
        ]
    }

    /// A vector is one lane: nothing to transpose.
    #[inline(always)]
    fn transpose_quads(self, v: [v128; 4]) -> [v128; 4] {
        v
    }
}

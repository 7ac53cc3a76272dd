//! AVX-512: radix 2^44 on CPUs with IFMA, 2^26 on others, eight lanes.

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm512_add_epi64, _mm512_and_si512, _mm512_castsi128_si512,
    _mm512_inserti32x4, _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64,
    _mm512_maskz_loadu_epi64, _mm512_maskz_set1_epi64, _mm512_mul_epu32, _mm512_or_si512,
    _mm512_set_epi64, _mm512_set1_epi64, _mm512_sllv_epi64, _mm512_srlv_epi64, _mm512_storeu_si512,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use super::{Backend, Batch};
use crate::cpu::Head;
use crate::poly1305::batch::{self, Message};
use crate::poly1305::isa::{Isa, MOST_LANES, Multiply52};
use crate::poly1305::lanes26::Radix26;
use crate::poly1305::lanes44::Radix44;
use crate::poly1305::scalar::State;
use crate::poly1305::{Keep, lanes};

// The compiler takes AVX2 and FMA to come with AVX-512; the CPU has a bit for each.
cpufeatures::new!(avx512, "avx512f", "avx2", "fma");
cpufeatures::new!(avx512ifma, "avx512ifma", "avx512f", "avx2", "fma");

/// 176 bytes one-shot: on Zen 5 (EPYC 9005) a message of 9 to 16 blocks takes 153 cycles, 11 in the scalar
/// code 155; where each waits for the one before, 231 and 180, and 15 blocks are even. Linux takes 18
/// blocks (288 bytes) for its AVX-512 code (Biggers, 2025). With powers 80 bytes: up to 8 blocks take 76
/// cycles, 5 in the scalar code 78.
pub(super) const IFMA: Backend = Backend {
    head: Head { name: "avx512ifma", level: 40, usable: avx512ifma::get },
    min_blocks: 11,
    min_blocks_cached: 5,
    blocks: ifma_blocks,
    batch: Some(Batch { lanes: 2 * LANES, step_cost: 4, start_cost: 26, tags: ifma_tags }),
};

/// 320 bytes one-shot: on Zen 5 (EPYC 9005) 16 blocks take 228 cycles, as in the scalar code; where each
/// message waits for the one before, 291, and 20 blocks are even. With powers 144 bytes: 9 to 16 blocks
/// take 127 cycles, 9 in the scalar code 130.
pub(super) const ROW: Backend = Backend {
    head: Head { name: "avx512", level: 30, usable: avx512::get },
    min_blocks: 20,
    min_blocks_cached: 9,
    blocks,
    batch: Some(Batch { lanes: LANES, step_cost: 6, start_cost: 36, tags }),
};

const LANES: usize = 8;

#[target_feature(enable = "avx512f,avx512ifma")]
fn ifma_blocks(state: &mut State, keep: Keep<'_>, blocks: &[[u8; 16]]) {
    lanes::blocks::<_, Radix44, _>(Avx512::<true>(()), state, keep, blocks);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn ifma_tags(messages: &[Message<'_>], tags: &mut [[u8; 16]]) {
    let isa = Avx512::<true>(());
    match messages.len() {
        0..=LANES => batch::tags::<_, Radix44, _, 1>(isa, messages, tags),
        _ => batch::tags::<_, Radix44, _, 2>(isa, messages, tags),
    }
}

#[target_feature(enable = "avx512f")]
fn blocks(state: &mut State, keep: Keep<'_>, blocks: &[[u8; 16]]) {
    lanes::blocks::<_, Radix26, _>(Avx512::<false>(()), state, keep, blocks);
}

#[target_feature(enable = "avx512f")]
fn tags(messages: &[Message<'_>], tags: &mut [[u8; 16]]) {
    batch::tags::<_, Radix26, _, 1>(Avx512::<false>(()), messages, tags);
}

/// The proof that AVX-512F may be used, and IFMA if it says so: made in the kernels above alone.
#[derive(Clone, Copy)]
struct Avx512<const IFMA: bool>(());

/// An intrinsic whose only requirement is what the token proves.
macro_rules! avx512 {
    ($call:expr) => {{
        // SAFETY: the token proves the feature; it is made in functions that enable it.
        unsafe { $call }
    }};
}

impl<const IFMA: bool> Isa for Avx512<IFMA> {
    type V = __m512i;

    type Factor = u64;

    const LANES: usize = LANES;

    const ORDER: &'static [usize] = &[0, 4, 1, 5, 2, 6, 3, 7];

    #[inline(always)]
    fn splat(self, x: u64) -> __m512i {
        avx512!(_mm512_set1_epi64(x.cast_signed()))
    }

    /// By a mask that is made as a number: of single truths the compiler makes one with instructions on masks,
    /// three for each lane.
    #[inline(always)]
    fn splat_to(self, x: u64, to: impl Fn(usize) -> bool) -> __m512i {
        let mask = (0..LANES).fold(0, |mask, lane| mask | u8::from(to(lane)) << lane);
        avx512!(_mm512_maskz_set1_epi64(mask, x.cast_signed()))
    }

    #[inline(always)]
    fn lanes(self, x: impl Fn(usize) -> u64) -> __m512i {
        let [a, b, c, d] = [x(0), x(1), x(2), x(3)].map(u64::cast_signed);
        let [e, f, g, h] = [x(4), x(5), x(6), x(7)].map(u64::cast_signed);
        avx512!(_mm512_set_epi64(h, g, f, e, d, c, b, a))
    }

    #[inline(always)]
    fn load(self, blocks: &[[u8; 16]]) -> (__m512i, __m512i) {
        let (fours, _) = blocks.first_chunk::<LANES>().expect("a group").as_chunks::<4>();
        // SAFETY: four blocks have 64 bytes, and the load needs no alignment.
        let load = |i: usize| unsafe { _mm512_loadu_si512(fours[i].as_ptr().cast::<__m512i>()) };
        let (a, b) = (load(0), load(1));
        (avx512!(_mm512_unpacklo_epi64(a, b)), avx512!(_mm512_unpackhi_epi64(a, b)))
    }

    #[inline(always)]
    fn gather<'a>(self, block: impl Fn(usize) -> &'a [u8; 16]) -> (__m512i, __m512i) {
        macro_rules! four {
            ($first:literal) => {{
                let v = avx512!(_mm512_castsi128_si512(load(block($first))));
                let v = avx512!(_mm512_inserti32x4::<1>(v, load(block($first + 1))));
                let v = avx512!(_mm512_inserti32x4::<2>(v, load(block($first + 2))));
                avx512!(_mm512_inserti32x4::<3>(v, load(block($first + 3))))
            }};
        }
        let (a, b) = (four!(0), four!(4));
        (avx512!(_mm512_unpacklo_epi64(a, b)), avx512!(_mm512_unpackhi_epi64(a, b)))
    }

    /// From before the blocks on, but for what lies before them.
    #[inline(always)]
    fn load_last(self, blocks: &[[u8; 16]]) -> (__m512i, __m512i) {
        let empty = LANES - blocks.len();
        let words = u16::MAX << (2 * empty);
        let start = blocks.as_ptr().wrapping_sub(empty);
        let load = |i: usize, words: u8| {
            let start = start.wrapping_add(4 * i).cast::<i64>();
            // SAFETY: of the eight blocks that end where `blocks` ends, the mask, made of its
            // length, leaves out those before it; masked words are not touched.
            unsafe { _mm512_maskz_loadu_epi64(words, start) }
        };
        let (a, b) = (load(0, words as u8), load(1, (words >> 8) as u8));
        (avx512!(_mm512_unpacklo_epi64(a, b)), avx512!(_mm512_unpackhi_epi64(a, b)))
    }

    #[inline(always)]
    fn factor(self, v: __m512i) -> u64 {
        self.store(v)[0]
    }

    #[inline(always)]
    fn vector(self, factor: u64) -> __m512i {
        self.splat(factor)
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_add_epi64(a, b))
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_and_si512(a, b))
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_or_si512(a, b))
    }

    #[inline(always)]
    fn shift_left<const N: i32>(self, v: __m512i) -> __m512i {
        avx512!(_mm512_sllv_epi64(v, _mm512_set1_epi64(i64::from(N))))
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self, v: __m512i) -> __m512i {
        avx512!(_mm512_srlv_epi64(v, _mm512_set1_epi64(i64::from(N))))
    }

    #[inline(always)]
    fn multiply(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mul_epu32(a, b))
    }

    #[inline(always)]
    fn forget(self, v: __m512i) -> __m512i {
        avx512!(forget(v))
    }

    #[inline(always)]
    fn store(self, v: __m512i) -> [u64; MOST_LANES] {
        let mut lanes = [0; MOST_LANES];
        // SAFETY: the array has 64 bytes, and the store needs no alignment.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast::<__m512i>(), v) };
        lanes
    }
}

impl Multiply52 for Avx512<true> {
    #[inline(always)]
    fn add_low(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_madd52lo_epu64(sum, a, b))
    }

    #[inline(always)]
    fn add_high(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_madd52hi_epu64(sum, a, b))
    }
}

/// A block in a vector.
#[inline(always)]
fn load(block: &[u8; 16]) -> __m128i {
    // SAFETY: the array has 16 bytes, and the load needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// A function of its own, since the register class wants the feature.
#[inline]
#[target_feature(enable = "avx512f")]
fn forget(mut v: __m512i) -> __m512i {
    if cfg!(not(keyspring_no_asm)) {
        // SAFETY: there is no instruction; the register goes in and comes out.
        unsafe {
            asm!("/* {0} */", inout(zmm_reg) v, options(pure, nomem, nostack, preserves_flags));
        }
    }
    v
}

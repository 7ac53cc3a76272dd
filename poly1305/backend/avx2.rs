//! AVX2: radix 2^26, four lanes.

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_castsi128_si256,
    _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_maskload_epi64, _mm256_mul_epu32,
    _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};

use super::{Backend, Batch};
use crate::cpu::Head;
use crate::poly1305::batch::{self, Message};
use crate::poly1305::isa::{Isa, MOST_LANES};
use crate::poly1305::lanes26::Radix26;
use crate::poly1305::scalar::State;
use crate::poly1305::{Keep, lanes};

cpufeatures::new!(avx2, "avx2");

pub(super) const ROW: Backend = Backend {
    head: Head { name: "avx2", level: 20, usable: avx2::get },
    min_blocks: MIN_BLOCKS,
    min_blocks_cached: MIN_BLOCKS_CACHED,
    blocks,
    batch: Some(Batch { lanes: Avx2::LANES, step_cost: 5, start_cost: 18, tags }),
};

/// 480 bytes. On Zen 3 (EPYC 7003) the powers of r and the fold cost as much as the scalar code needs
/// for 24 to 29 blocks, by the run. Linux takes 18 blocks (288 bytes) for its AVX code (Biggers, 2025).
const MIN_BLOCKS: usize = 30;

/// 176 bytes, with the powers there: 8 and 10 blocks cost as much as in the scalar code, 9 more, and
/// from 11 on all cost less. Linux has no threshold then (`is_base2_26`).
const MIN_BLOCKS_CACHED: usize = 11;

#[target_feature(enable = "avx2")]
fn blocks(state: &mut State, keep: Keep<'_>, blocks: &[[u8; 16]]) {
    lanes::blocks::<_, Radix26, _>(Avx2(()), state, keep, blocks);
}

#[target_feature(enable = "avx2")]
fn tags(messages: &[Message<'_>], tags: &mut [[u8; 16]]) {
    batch::tags::<_, Radix26, _, 1>(Avx2(()), messages, tags);
}

/// The proof that AVX2 may be used: made in the kernels above alone.
#[derive(Clone, Copy)]
struct Avx2(());

/// An intrinsic whose only requirement is AVX2.
macro_rules! avx2 {
    ($call:expr) => {{
        // SAFETY: the token proves AVX2; it is made in a function that enables it.
        unsafe { $call }
    }};
}

impl Isa for Avx2 {
    type V = __m256i;

    type Factor = __m256i;

    const LANES: usize = 4;

    const ORDER: &'static [usize] = &[0, 2, 1, 3];

    #[inline(always)]
    fn splat(self, x: u64) -> __m256i {
        avx2!(_mm256_set1_epi64x(x.cast_signed()))
    }

    #[inline(always)]
    fn lanes(self, x: impl Fn(usize) -> u64) -> __m256i {
        let [a, b, c, d] = [x(0), x(1), x(2), x(3)].map(u64::cast_signed);
        avx2!(_mm256_set_epi64x(d, c, b, a))
    }

    #[inline(always)]
    fn load(self, blocks: &[[u8; 16]]) -> (__m256i, __m256i) {
        let (pairs, _) = blocks.first_chunk::<4>().expect("a group").as_chunks::<2>();
        // SAFETY: a pair has 32 bytes, and the load needs no alignment.
        let load = |i: usize| unsafe { _mm256_loadu_si256(pairs[i].as_ptr().cast::<__m256i>()) };
        let (a, b) = (load(0), load(1));
        (avx2!(_mm256_unpacklo_epi64(a, b)), avx2!(_mm256_unpackhi_epi64(a, b)))
    }

    #[inline(always)]
    fn gather<'a>(self, block: impl Fn(usize) -> &'a [u8; 16]) -> (__m256i, __m256i) {
        macro_rules! two {
            ($first:literal) => {{
                let v = avx2!(_mm256_castsi128_si256(load(block($first))));
                avx2!(_mm256_inserti128_si256::<1>(v, load(block($first + 1))))
            }};
        }
        let (a, b) = (two!(0), two!(2));
        (avx2!(_mm256_unpacklo_epi64(a, b)), avx2!(_mm256_unpackhi_epi64(a, b)))
    }

    /// From before the blocks on, but for what lies before them.
    #[inline(always)]
    fn load_last(self, blocks: &[[u8; 16]]) -> (__m256i, __m256i) {
        static MASKS: [i64; 16] = [0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1];
        let empty = Self::LANES - blocks.len();
        let start = blocks.as_ptr().wrapping_sub(empty);
        let masks = &MASKS[8 - 2 * empty..];
        let load = |i: usize| {
            let mask: &[i64; 4] = masks[4 * i..].first_chunk().expect("8 words at least");
            // SAFETY: the array has 32 bytes, and the load needs no alignment.
            let mask = unsafe { _mm256_loadu_si256(mask.as_ptr().cast::<__m256i>()) };
            let start = start.wrapping_add(2 * i).cast::<i64>();
            // SAFETY: of the four blocks that end where `blocks` ends, the mask, made of its
            // length, leaves out those before it; masked words are not touched.
            unsafe { _mm256_maskload_epi64(start, mask) }
        };
        let (a, b) = (load(0), load(1));
        (avx2!(_mm256_unpacklo_epi64(a, b)), avx2!(_mm256_unpackhi_epi64(a, b)))
    }

    #[inline(always)]
    fn factor(self, v: __m256i) -> __m256i {
        v
    }

    #[inline(always)]
    fn vector(self, factor: __m256i) -> __m256i {
        factor
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_add_epi64(a, b))
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_and_si256(a, b))
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(a, b))
    }

    #[inline(always)]
    fn shift_left<const N: i32>(self, v: __m256i) -> __m256i {
        avx2!(_mm256_slli_epi64::<N>(v))
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self, v: __m256i) -> __m256i {
        avx2!(_mm256_srli_epi64::<N>(v))
    }

    #[inline(always)]
    fn multiply(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_mul_epu32(a, b))
    }

    #[inline(always)]
    fn forget(self, v: __m256i) -> __m256i {
        avx2!(forget(v))
    }

    #[inline(always)]
    fn store(self, v: __m256i) -> [u64; MOST_LANES] {
        let mut lanes = [0; MOST_LANES];
        // SAFETY: the array has 64 bytes, more than a vector, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast::<__m256i>(), v) };
        lanes
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
#[target_feature(enable = "avx2")]
fn forget(mut v: __m256i) -> __m256i {
    if cfg!(not(keyspring_no_asm)) {
        // SAFETY: there is no instruction; the register goes in and comes out.
        unsafe {
            asm!("/* {0} */", inout(ymm_reg) v, options(pure, nomem, nostack, preserves_flags));
        }
    }
    v
}

//! AVX2: 256-bit vectors, two 128-bit lanes.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_add_epi64,
    _mm256_broadcastsi128_si256, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_max_epu32,
    _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_epi8, _mm256_set_epi32,
    _mm256_set_epi64x, _mm256_set1_epi32, _mm256_shuffle_epi8, _mm256_shuffle_epi32,
    _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::Backend;
use crate::chacha::data::{Mode, mode};
use crate::chacha::isa::Isa;
use crate::chacha::{State, shapes};

cpufeatures::new!(avx2, "avx2");

pub(super) const ROW: Backend = Backend {
    name: "avx2",
    level: 20,
    usable: avx2::get,
    pass_blocks: 8,
    in_place: run::<mode::InPlace>,
    into: run::<mode::Into>,
    keystream: run::<mode::Keystream>,
};

#[target_feature(enable = "avx2")]
fn run<M: Mode>(state: &State, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    shapes::run(Avx2(()), state, lead, data);
}

/// The proof that AVX2 may be used: made in [`run`] alone.
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

    const QUADS: usize = 2;

    /// A fourth chain would hold 7 and 8 blocks, and the vertical pass of 8 costs less.
    const WIDE_FROM: usize = 7;

    #[inline(always)]
    fn splat(self, word: u32) -> __m256i {
        avx2!(_mm256_set1_epi32(word.cast_signed()))
    }

    #[inline(always)]
    fn row(self, words: &[u32; 4]) -> __m256i {
        // SAFETY: the array has 16 bytes, and the load needs no alignment.
        let row = unsafe { _mm_loadu_si128(words.as_ptr().cast::<__m128i>()) };
        avx2!(_mm256_broadcastsi128_si256(row))
    }

    #[inline(always)]
    fn count_row(self, row: __m256i, n: u64) -> __m256i {
        let n = n.cast_signed();
        avx2!(_mm256_add_epi64(row, _mm256_set_epi64x(0, n.wrapping_add(1), 0, n)))
    }

    #[inline(always)]
    fn count_lanes(self, first: u64) -> (__m256i, __m256i) {
        let (low, high) = (self.splat(first as u32), self.splat((first >> 32) as u32));
        let sum = avx2!(_mm256_add_epi32(low, _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0)));
        // A lane has no carry where its sum is not below what it started from. The comparison gives
        // -1 there and 0 elsewhere, and subtracting both it and 1 adds the carry.
        let no_carry = avx2!(_mm256_cmpeq_epi32(_mm256_max_epu32(sum, low), sum));
        (sum, avx2!(_mm256_add_epi32(_mm256_add_epi32(high, no_carry), self.splat(1))))
    }

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m256i {
        let bytes = bytes.first_chunk::<32>().expect("a vector's bytes");
        // SAFETY: the array has 32 bytes, and the load needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast::<__m256i>()) }
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8], v: __m256i) {
        let bytes = bytes.first_chunk_mut::<32>().expect("a vector's bytes");
        // SAFETY: the array has 32 bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast::<__m256i>(), v) }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_add_epi32(a, b))
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_xor_si256(a, b))
    }

    #[inline(always)]
    fn rotl16(self, v: __m256i) -> __m256i {
        avx2!(_mm256_shuffle_epi8(
            v,
            _mm256_set_epi8(
                13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11, 10,
                5, 4, 7, 6, 1, 0, 3, 2,
            )
        ))
    }

    #[inline(always)]
    fn rotl12(self, v: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(_mm256_slli_epi32::<12>(v), _mm256_srli_epi32::<20>(v)))
    }

    #[inline(always)]
    fn rotl8(self, v: __m256i) -> __m256i {
        avx2!(_mm256_shuffle_epi8(
            v,
            _mm256_set_epi8(
                14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3, 14, 13, 12, 15, 10, 9, 8, 11,
                6, 5, 4, 7, 2, 1, 0, 3,
            )
        ))
    }

    #[inline(always)]
    fn rotl7(self, v: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(_mm256_slli_epi32::<7>(v), _mm256_srli_epi32::<25>(v)))
    }

    #[inline(always)]
    fn turn1(self, v: __m256i) -> __m256i {
        avx2!(_mm256_shuffle_epi32::<0b00_11_10_01>(v))
    }

    #[inline(always)]
    fn turn2(self, v: __m256i) -> __m256i {
        avx2!(_mm256_shuffle_epi32::<0b01_00_11_10>(v))
    }

    #[inline(always)]
    fn turn3(self, v: __m256i) -> __m256i {
        avx2!(_mm256_shuffle_epi32::<0b10_01_00_11>(v))
    }

    #[inline(always)]
    fn transpose_words(self, [a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
        let ab = avx2!(_mm256_unpacklo_epi32(a, b));
        let cd = avx2!(_mm256_unpacklo_epi32(c, d));
        let ab_high = avx2!(_mm256_unpackhi_epi32(a, b));
        let cd_high = avx2!(_mm256_unpackhi_epi32(c, d));
        [
            avx2!(_mm256_unpacklo_epi64(ab, cd)),
            avx2!(_mm256_unpackhi_epi64(ab, cd)),
            avx2!(_mm256_unpacklo_epi64(ab_high, cd_high)),
            avx2!(_mm256_unpackhi_epi64(ab_high, cd_high)),
        ]
    }

    #[inline(always)]
    fn transpose_quads(self, [a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
        [
            avx2!(_mm256_permute2x128_si256::<0x20>(a, b)),
            avx2!(_mm256_permute2x128_si256::<0x20>(c, d)),
            avx2!(_mm256_permute2x128_si256::<0x31>(a, b)),
            avx2!(_mm256_permute2x128_si256::<0x31>(c, d)),
        ]
    }
}

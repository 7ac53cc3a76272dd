//! SSE2: 128-bit vectors, for targets that always have them, as x86-64 does under an operating
//! system. (Bare-metal x86-64 targets do without, to keep vector registers out of kernels.)

use core::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_cmpgt_epi32, _mm_loadu_si128, _mm_or_si128, _mm_set_epi32,
    _mm_set_epi64x, _mm_set1_epi32, _mm_setr_epi32, _mm_shuffle_epi32, _mm_shufflehi_epi16,
    _mm_shufflelo_epi16, _mm_slli_epi32, _mm_srli_epi32, _mm_storeu_si128, _mm_sub_epi32,
    _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm_xor_si128,
};

use super::{Backend, Kernels};
use crate::chacha::batch::{self, Blocks, Lanes};
use crate::chacha::data::{Mode, mode};
use crate::chacha::isa::{self, Isa};
use crate::chacha::{State, shapes};
use crate::cpu::Head;

pub(super) const ROW: Backend = Backend {
    head: Head { name: "sse2", level: 10, usable: || true },
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
    shapes::run(Sse2(()), state, first, lead, data);
}

fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes(Sse2(()), lanes, blocks);
}

/// The proof that SSE2 may be used: this file is compiled only where the target enables it.
#[derive(Clone, Copy)]
struct Sse2(());

/// An intrinsic whose only requirement is SSE2.
macro_rules! sse2 {
    ($call:expr) => {{
        // SAFETY: the target enables SSE2, or this file would not be compiled.
        #[allow(unused_unsafe, reason = "safe where the target enables SSE2, since Rust 1.87")]
        unsafe {
            $call
        }
    }};
}

impl Isa for Sse2 {
    type V = __m128i;

    const QUADS: usize = 1;

    /// Three chains cost more than the vertical pass of four blocks.
    const WIDE_FROM: usize = 3;

    /// Zen 3: 18 % faster than one after the other.
    const SIDE_BY_SIDE: bool = true;

    #[inline(always)]
    fn splat(self, word: u32) -> __m128i {
        sse2!(_mm_set1_epi32(word.cast_signed()))
    }

    #[inline(always)]
    fn row(self, words: [u32; 4]) -> __m128i {
        let [a, b, c, d] = words.map(u32::cast_signed);
        sse2!(_mm_setr_epi32(a, b, c, d))
    }

    #[inline(always)]
    fn rows(self, words: impl Fn(usize) -> [u32; 4]) -> __m128i {
        self.row(words(0))
    }

    #[inline(always)]
    fn last_row(self, counter: u64, nonce: u64) -> __m128i {
        sse2!(_mm_set_epi64x(isa::alone(nonce).cast_signed(), counter.cast_signed()))
    }

    #[inline(always)]
    fn count_lanes(self, first: u64) -> (__m128i, __m128i) {
        let (low, high) = (self.splat(first as u32), self.splat((first >> 32) as u32));
        let sum = sse2!(_mm_add_epi32(low, _mm_set_epi32(3, 2, 1, 0)));
        // A lane has a carry where its sum is below what it started from. SSE2 compares signed
        // words only: flipping the top bits keeps the unsigned order.
        let top = self.splat(1 << 31);
        let carry = sse2!(_mm_cmpgt_epi32(_mm_xor_si128(low, top), _mm_xor_si128(sum, top)));
        (sum, sse2!(_mm_sub_epi32(high, carry)))
    }

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m128i {
        let bytes = bytes.first_chunk::<16>().expect("a vector's bytes");
        // SAFETY: the array has 16 bytes, and the load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>()) }
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8], v: __m128i) {
        let bytes = bytes.first_chunk_mut::<16>().expect("a vector's bytes");
        // SAFETY: the array has 16 bytes, and the store needs no alignment.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast::<__m128i>(), v) }
    }

    #[inline(always)]
    fn add(self, a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_add_epi32(a, b))
    }

    #[inline(always)]
    fn xor(self, a: __m128i, b: __m128i) -> __m128i {
        sse2!(_mm_xor_si128(a, b))
    }

    #[inline(always)]
    fn rotl16(self, v: __m128i) -> __m128i {
        const SWAP: i32 = 0b10_11_00_01;
        sse2!(_mm_shufflehi_epi16::<SWAP>(_mm_shufflelo_epi16::<SWAP>(v)))
    }

    #[inline(always)]
    fn rotl12(self, v: __m128i) -> __m128i {
        sse2!(_mm_or_si128(_mm_slli_epi32::<12>(v), _mm_srli_epi32::<20>(v)))
    }

    #[inline(always)]
    fn rotl8(self, v: __m128i) -> __m128i {
        sse2!(_mm_or_si128(_mm_slli_epi32::<8>(v), _mm_srli_epi32::<24>(v)))
    }

    #[inline(always)]
    fn rotl7(self, v: __m128i) -> __m128i {
        sse2!(_mm_or_si128(_mm_slli_epi32::<7>(v), _mm_srli_epi32::<25>(v)))
    }

    #[inline(always)]
    fn turn1(self, v: __m128i) -> __m128i {
        sse2!(_mm_shuffle_epi32::<0b00_11_10_01>(v))
    }

    #[inline(always)]
    fn turn2(self, v: __m128i) -> __m128i {
        sse2!(_mm_shuffle_epi32::<0b01_00_11_10>(v))
    }

    #[inline(always)]
    fn turn3(self, v: __m128i) -> __m128i {
        sse2!(_mm_shuffle_epi32::<0b10_01_00_11>(v))
    }

    #[inline(always)]
    fn transpose_words(self, [a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
        let ab = sse2!(_mm_unpacklo_epi32(a, b));
        let cd = sse2!(_mm_unpacklo_epi32(c, d));
        let ab_high = sse2!(_mm_unpackhi_epi32(a, b));
        let cd_high = sse2!(_mm_unpackhi_epi32(c, d));
        [
            sse2!(_mm_unpacklo_epi64(ab, cd)),
            sse2!(_mm_unpackhi_epi64(ab, cd)),
            sse2!(_mm_unpacklo_epi64(ab_high, cd_high)),
            sse2!(_mm_unpackhi_epi64(ab_high, cd_high)),
        ]
    }

    /// A vector is one lane: nothing to transpose.
    #[inline(always)]
    fn transpose_quads(self, v: [__m128i; 4]) -> [__m128i; 4] {
        v
    }
}

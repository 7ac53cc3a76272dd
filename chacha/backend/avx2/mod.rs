//! AVX2: 256-bit vectors, two 128-bit lanes.

pub(crate) mod pair;
mod rounds;

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_cvtsi64_si128, _mm_setr_epi32, _mm_unpacklo_epi64, _mm256_add_epi32,
    _mm256_add_epi64, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi32, _mm256_loadu_si256,
    _mm256_max_epu32, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_epi32,
    _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_shuffle_epi8,
    _mm256_shuffle_epi32, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_si256,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};

use super::{Backend, Kernels};
use crate::chacha::batch::{self, Blocks, Lanes};
use crate::chacha::data::{Data, Mode, Pieces, mode};
use crate::chacha::isa::{self, Isa};
use crate::chacha::wide::{self, Between};
use crate::chacha::woven::{Lead, Slots};
use crate::chacha::{State, shapes};
use crate::cpu::Head;

cpufeatures::new!(avx2, "avx2");

pub(super) const ROW: Backend = Backend {
    head: Head { name: "avx2", level: 20, usable: avx2::get },
    kernels: KERNELS,
    on_zen5: Kernels {
        longest_pass: 16,
        single_block_goes_scalar: true,
        weaves_a_lead: true,
        in_place: run_on_zen5::<mode::InPlace>,
        apart: run_on_zen5::<mode::Apart>,
        keystream: run_on_zen5::<mode::Keystream>,
        lanes,
    },
};

const KERNELS: Kernels = Kernels {
    longest_pass: 8,
    single_block_goes_scalar: false,
    weaves_a_lead: false,
    in_place: run::<mode::InPlace>,
    apart: run::<mode::Apart>,
    keystream: run::<mode::Keystream>,
    lanes,
};

/// Whether rounds are written by hand; where pointers have half a register, none are.
const HAS_ASM: bool = cfg!(all(not(keyspring_no_asm), target_pointer_width = "64"));

#[target_feature(enable = "avx2")]
fn run<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    if data.len() + if lead.is_some() { 64 } else { 0 } > 512 {
        return run_long::<M>(state, first, lead, data);
    }
    shapes::short(Avx2::new(), state, first, lead, data);
}

/// A function of its own, since short messages would pay for what the loop wants ready.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn run_long<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    shapes::run(Avx2::new(), state, first, lead, data);
}

#[target_feature(enable = "avx2")]
fn run_on_zen5<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    if data.len() + if lead.is_some() { 64 } else { 0 } > 512 {
        return run_in_pairs::<M>(state, first, lead, data);
    }
    shapes::short(Avx2::new(), state, first, lead, data);
}

/// As [`run_long`].
#[inline(never)]
#[target_feature(enable = "avx2")]
fn run_in_pairs<M: Mode>(
    state: &State,
    mut first: u64,
    mut lead: Option<&mut [u8; 64]>,
    mut data: M::Data<'_>,
) {
    let isa = Avx2::new();
    let mut at = 0;
    // A block apart that is one too many for the passes of the others.
    if data.len().div_ceil(64) % 8 == 0
        && let Some(lead) = lead.take_if(|_| data.len() > 0)
    {
        at = weave::<M>(state, first, lead, &mut data);
        first = first.wrapping_add(1 + (at / 64) as u64);
    }
    loop {
        let apart = if lead.is_some() { 64 } else { 0 };
        let rest = data.len() - at;
        if apart + rest <= 512 {
            let (_, rest) = data.split_at(at);
            return shapes::short(isa, state, first, lead, rest);
        }
        if apart == 0 && rest >= 1024 {
            pair::pass(isa, state, first, &mut data.window(at, 1024), || ());
            at += 1024;
        } else {
            let len = rest.min(1024 - apart);
            let mut pieces = Pieces::new(lead.take(), data.window(at, len));
            pair::pass(isa, state, first, &mut pieces, || ());
            pieces.finish(isa);
            at += len;
        }
        first = first.wrapping_add(16);
    }
}

/// The first pass of the blocks behind `first`; that one is woven into it and goes to `lead`. Returns
/// how far that came, in bytes of `data`.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn weave<M: Mode>(state: &State, first: u64, lead: &mut [u8; 64], data: &mut M::Data<'_>) -> usize {
    shapes::record("woven", 1);
    let isa = Avx2::new();
    let mut lead = Lead::new(state, first, lead);
    let first = first.wrapping_add(1);
    let len = data.len().min(1024);
    let mut pieces = Pieces::new(None, data.window(0, len));
    if len <= 512 {
        wide::pass_with(isa, state, first, &mut pieces, Slots::<4>(&mut lead));
    } else {
        pair::pass(isa, state, first, &mut pieces, Slots::<8>(&mut lead));
    }
    pieces.finish(isa);
    lead.finish();
    len
}

#[target_feature(enable = "avx2")]
fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes(Avx2::new(), lanes, blocks);
}

/// The proof that AVX2 may be used: made in [`Avx2::new`] alone. It carries the byte shuffles that
/// rotate each word by 16 and by 8.
#[derive(Clone, Copy)]
pub(crate) struct Avx2 {
    rotl16: __m256i,
    rotl8: __m256i,
}

impl Avx2 {
    /// The shuffles are hidden from the compiler. It would make two shuffles of the first, and pull
    /// the second apart over the xor before it (893 against 834 TSC cycles a KiB on Zen 3).
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn new() -> Self {
        const ROTL16: u128 = 0x0d0c_0f0e_0908_0b0a_0504_0706_0100_0302;
        const ROTL8: u128 = 0x0e0d_0c0f_0a09_080b_0605_0407_0201_0003;
        let hidden = |shuffle: u128| {
            let (low, high) =
                ((shuffle as u64).cast_signed(), ((shuffle >> 64) as u64).cast_signed());
            let mut v = _mm256_setr_epi64x(low, high, low, high);
            // SAFETY: there is no instruction; the register goes in and comes out.
            unsafe {
                asm!("/* {0} */", inout(ymm_reg) v, options(pure, nomem, nostack, preserves_flags));
            }
            v
        };
        Self { rotl16: hidden(ROTL16), rotl8: hidden(ROTL8) }
    }
}

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

    /// Zen 3: 2 % faster than side by side.
    const SIDE_BY_SIDE: bool = false;

    #[inline(always)]
    fn splat(self, word: u32) -> __m256i {
        avx2!(_mm256_set1_epi32(word.cast_signed()))
    }

    #[inline(always)]
    fn row(self, words: [u32; 4]) -> __m256i {
        let [a, b, c, d] = words.map(u32::cast_signed);
        avx2!(_mm256_broadcastsi128_si256(_mm_setr_epi32(a, b, c, d)))
    }

    #[inline(always)]
    fn rows(self, words: impl Fn(usize) -> [u32; 4]) -> __m256i {
        let [[a, b, c, d], [e, f, g, h]] =
            [words(0), words(1)].map(|row| row.map(u32::cast_signed));
        avx2!(_mm256_setr_epi32(a, b, c, d, e, f, g, h))
    }

    #[inline(always)]
    fn last_row(self, counter: u64, nonce: u64) -> __m256i {
        let [counter, nonce] = [counter, isa::alone(nonce)].map(u64::cast_signed);
        let row = avx2!(_mm256_broadcastsi128_si256(_mm_unpacklo_epi64(
            _mm_cvtsi64_si128(counter),
            _mm_cvtsi64_si128(nonce)
        )));
        avx2!(_mm256_add_epi64(row, _mm256_setr_epi64x(0, 0, 1, 0)))
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
        avx2!(_mm256_shuffle_epi8(v, self.rotl16))
    }

    #[inline(always)]
    fn rotl12(self, v: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(_mm256_slli_epi32::<12>(v), _mm256_srli_epi32::<20>(v)))
    }

    #[inline(always)]
    fn rotl8(self, v: __m256i) -> __m256i {
        avx2!(_mm256_shuffle_epi8(v, self.rotl8))
    }

    #[inline(always)]
    fn rotl7(self, v: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(_mm256_slli_epi32::<7>(v), _mm256_srli_epi32::<25>(v)))
    }

    #[inline(always)]
    fn rounds(self, x: [__m256i; 16], double_rounds: u32, between: impl Between) -> [__m256i; 16] {
        rounds::one_pass(self, x, double_rounds, between)
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

//! AVX-512 F, BW and VL: rotations in one instruction, 32 registers, masked loads and stores, at
//! three widths. Two rows: `avx512` takes 512 bits wherever two blocks or more share a pass;
//! `avx512vl` never takes more than 256, for CPUs that lower their clock for wider ones.

use core::arch::asm;
use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi32, _mm_add_epi64, _mm_cmplt_epu32_mask, _mm_loadu_si128,
    _mm_mask_add_epi32, _mm_mask_storeu_epi8, _mm_maskz_loadu_epi8, _mm_rol_epi32, _mm_set1_epi32,
    _mm_setr_epi32, _mm_shuffle_epi32, _mm_storeu_si128, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
    _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm_xor_si128, _mm256_add_epi32, _mm256_add_epi64,
    _mm256_broadcastsi128_si256, _mm256_cmplt_epu32_mask, _mm256_inserti128_si256,
    _mm256_loadu_si256, _mm256_mask_add_epi32, _mm256_mask_storeu_epi8, _mm256_maskz_loadu_epi8,
    _mm256_permute2x128_si256, _mm256_rol_epi32, _mm256_set1_epi32, _mm256_shuffle_epi32,
    _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32,
    _mm256_unpacklo_epi64, _mm256_xor_si256, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_broadcast_i32x4, _mm512_cmplt_epu32_mask, _mm512_inserti32x4, _mm512_loadu_si512,
    _mm512_mask_add_epi32, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_rol_epi32,
    _mm512_set1_epi32, _mm512_shuffle_epi32, _mm512_shuffle_i32x4, _mm512_storeu_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
    _mm512_xor_si512,
};
use core::convert::identity;

use super::{Backend, Kernels};
use crate::chacha::batch::{self, Blocks, Lanes};
use crate::chacha::data::{Data, Mode, mode};
use crate::chacha::isa::Isa;
use crate::chacha::pair::InOrder;
use crate::chacha::{State, shapes};
use crate::cpu::Head;

// The compiler takes AVX2 and FMA to come with AVX-512; the CPU has a bit for each.
cpufeatures::new!(avx512, "avx512f", "avx512bw", "avx512vl", "avx2", "fma");

pub(super) const ROW: Backend = Backend {
    head: Head { name: "avx512", level: 30, usable: avx512::get },
    kernels: Kernels {
        longest_pass: 16,
        single_block_goes_scalar: false,
        weaves_a_lead: false,
        in_place: run::<mode::InPlace>,
        apart: run::<mode::Apart>,
        keystream: run::<mode::Keystream>,
        lanes,
    },
    on_zen5: Kernels {
        longest_pass: 32,
        single_block_goes_scalar: true,
        weaves_a_lead: true,
        in_place: run_on_zen5::<mode::InPlace>,
        apart: run_on_zen5::<mode::Apart>,
        keystream: run_on_zen5::<mode::Keystream>,
        lanes: lanes_in_pairs,
    },
};

pub(super) const ROW_OF_256_BITS: Backend = Backend {
    head: Head { name: "avx512vl", level: 29, usable: avx512::get },
    kernels: KERNELS_OF_256_BITS,
    on_zen5: KERNELS_OF_256_BITS.with_scalar_singles(),
};

const KERNELS_OF_256_BITS: Kernels = Kernels {
    longest_pass: 8,
    single_block_goes_scalar: false,
    weaves_a_lead: false,
    in_place: run_256::<mode::InPlace>,
    apart: run_256::<mode::Apart>,
    keystream: run_256::<mode::Keystream>,
    lanes: lanes_256,
};

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn run<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    shapes::direct(Zmm::new(), Xmm::new(), state, first, lead, data);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn run_on_zen5<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    match lead {
        _ if data.len() > 1024 => run_in_pairs::<M>(state, first, lead, data),
        Some(lead) => shapes::woven_into_a_pass(Zmm::new(), state, first, lead, data),
        None => shapes::at_most_a_pass(Zmm::new(), Xmm::new(), state, first, data),
    }
}

/// A function of its own, since short messages would pay for what the loop wants ready.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn run_in_pairs<M: Mode>(
    state: &State,
    first: u64,
    lead: Option<&mut [u8; 64]>,
    mut data: M::Data<'_>,
) {
    let apart = u64::from(lead.is_some());
    let at = shapes::in_pairs(Zmm::new(), state, first, lead, &mut data);
    if at < data.len() {
        let (_, rest) = data.split_at(at);
        run_on_zen5::<M>(state, first.wrapping_add(apart + at as u64 / 64), None, rest);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn run_256<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    shapes::direct(Ymm::new(), Xmm::new(), state, first, lead, data);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes(Zmm::new(), lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn lanes_in_pairs(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes_in_pairs(Zmm::new(), lanes, blocks);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn lanes_256(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes(Ymm::new(), lanes, blocks);
}

/// An intrinsic whose only requirement is AVX-512 F, BW and VL.
macro_rules! avx512 {
    ($call:expr) => {{
        // SAFETY: the token proves AVX-512; it is made in a function that enables it.
        #[allow(unused_unsafe, reason = "one vector of 128 bits needs nothing done in two places")]
        unsafe {
            $call
        }
    }};
}

/// A token for one width: what differs are the intrinsics' names, and how 128-bit lanes move.
macro_rules! token {
    (
        $(#[$doc:meta])*
        $token:ident: $v:ident, $quads:literal quads, wide from $wide_from:literal, mask $mask:ident;
        row: $broadcast:ident;
        splat: $set1:ident;
        load: $load:ident;
        store: $store:ident;
        load_part: $load_part:ident;
        store_part: $store_part:ident;
        add: $add:ident;
        add64: $add64:ident;
        xor: $xor:ident;
        rotl: $rotl:ident;
        turn: $shuffle:ident;
        below: $less:ident;
        add_where: $mask_add:ident;
        low32: $low32:ident;
        high32: $high32:ident;
        low64: $low64:ident;
        high64: $high64:ident;
        rows($row:ident): $rows:expr;
        transpose_quads($quads_of:ident): $transpose_quads:expr;
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $token(());

        impl $token {
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
            pub(crate) fn new() -> Self {
                Self(())
            }
        }

        impl Isa for $token {
            type V = $v;

            const QUADS: usize = $quads;
            const WIDE_FROM: usize = $wide_from;

            /// There are registers enough for either.
            const SIDE_BY_SIDE: bool = true;

            #[inline(always)]
            fn splat(self, word: u32) -> $v {
                avx512!($set1(word.cast_signed()))
            }

            #[inline(always)]
            fn row(self, words: [u32; 4]) -> $v {
                avx512!($broadcast(quad(words)))
            }

            #[inline(always)]
            fn rows(self, words: impl Fn(usize) -> [u32; 4]) -> $v {
                let $row = |i: usize| quad(words(i));
                avx512!($rows)
            }

            #[inline(always)]
            fn last_row(self, counter: u64, nonce: u64) -> $v {
                let word = |of: u64, i: u32| (of >> (32 * i)) as u32;
                let [c0, c1, n0, n1] =
                    [word(counter, 0), word(counter, 1), word(nonce, 0), word(nonce, 1)];
                avx512!($add64(self.row([c0, c1, n0, n1]), self.load(&BLOCK_NUMBERS)))
            }

            #[inline(always)]
            fn count_lanes(self, first: u64) -> ($v, $v) {
                let (low, high) = (self.splat(first as u32), self.splat((first >> 32) as u32));
                let sum = self.add(low, self.load(&LANE_NUMBERS));
                // A lane has a carry where its sum is below what it started from.
                let carry = avx512!($less(sum, low));
                (sum, avx512!($mask_add(high, carry, high, self.splat(1))))
            }

            #[inline(always)]
            fn load(self, bytes: &[u8]) -> $v {
                let bytes = bytes.first_chunk::<{ Self::BYTES }>().expect("a vector's bytes");
                // SAFETY: the array has a vector's bytes, and the load needs no alignment.
                unsafe { $load(bytes.as_ptr().cast()) }
            }

            #[inline(always)]
            fn store(self, bytes: &mut [u8], v: $v) {
                let bytes = bytes.first_chunk_mut::<{ Self::BYTES }>().expect("a vector's bytes");
                // SAFETY: the array has a vector's bytes, and the store needs no alignment.
                unsafe { $store(bytes.as_mut_ptr().cast(), v) }
            }

            #[inline(always)]
            fn load_part(self, bytes: &[u8]) -> $v {
                // SAFETY: bytes without a bit in the mask are not touched, and the mask has none
                // beyond the slice's length.
                unsafe { $load_part(mask(bytes.len()) as $mask, bytes.as_ptr().cast()) }
            }

            #[inline(always)]
            fn store_part(self, bytes: &mut [u8], v: $v) {
                // SAFETY: bytes without a bit in the mask are not touched, and the mask has none
                // beyond the slice's length.
                unsafe { $store_part(bytes.as_mut_ptr().cast(), mask(bytes.len()) as $mask, v) }
            }

            #[inline(always)]
            fn add(self, a: $v, b: $v) -> $v {
                avx512!($add(a, b))
            }

            #[inline(always)]
            fn xor(self, a: $v, b: $v) -> $v {
                avx512!($xor(a, b))
            }

            #[inline(always)]
            fn rotl16(self, v: $v) -> $v {
                avx512!($rotl::<16>(v))
            }

            #[inline(always)]
            fn rotl12(self, v: $v) -> $v {
                avx512!($rotl::<12>(v))
            }

            #[inline(always)]
            fn rotl8(self, v: $v) -> $v {
                avx512!($rotl::<8>(v))
            }

            #[inline(always)]
            fn rotl7(self, v: $v) -> $v {
                avx512!($rotl::<7>(v))
            }

            #[inline(always)]
            fn turn1(self, v: $v) -> $v {
                avx512!($shuffle::<0b00_11_10_01>(v))
            }

            #[inline(always)]
            fn turn2(self, v: $v) -> $v {
                avx512!($shuffle::<0b01_00_11_10>(v))
            }

            #[inline(always)]
            fn turn3(self, v: $v) -> $v {
                avx512!($shuffle::<0b10_01_00_11>(v))
            }

            #[inline(always)]
            fn transpose_words(self, [a, b, c, d]: [$v; 4]) -> [$v; 4] {
                let (ab, cd) = (avx512!($low32(a, b)), avx512!($low32(c, d)));
                let (ab_high, cd_high) = (avx512!($high32(a, b)), avx512!($high32(c, d)));
                [
                    avx512!($low64(ab, cd)),
                    avx512!($high64(ab, cd)),
                    avx512!($low64(ab_high, cd_high)),
                    avx512!($high64(ab_high, cd_high)),
                ]
            }

            #[inline(always)]
            fn transpose_quads(self, $quads_of: [$v; 4]) -> [$v; 4] {
                avx512!($transpose_quads)
            }
        }
    };
}

token! {
    /// 128 bits, for a single block.
    Xmm: __m128i, 1 quads, wide from 3, mask u16;
    row: identity;
    splat: _mm_set1_epi32;
    load: _mm_loadu_si128;
    store: _mm_storeu_si128;
    load_part: _mm_maskz_loadu_epi8;
    store_part: _mm_mask_storeu_epi8;
    add: _mm_add_epi32;
    add64: _mm_add_epi64;
    xor: _mm_xor_si128;
    rotl: _mm_rol_epi32;
    turn: _mm_shuffle_epi32;
    below: _mm_cmplt_epu32_mask;
    add_where: _mm_mask_add_epi32;
    low32: _mm_unpacklo_epi32;
    high32: _mm_unpackhi_epi32;
    low64: _mm_unpacklo_epi64;
    high64: _mm_unpackhi_epi64;
    rows(row): row(0);
    transpose_quads(v): v;
}

token! {
    /// 256 bits.
    ///
    /// A fourth chain would hold 7 and 8 blocks, which the vertical pass does at the same cost.
    /// On Zen 5, in cycles: one chain 382, two 485, three 521, the vertical pass 554.
    Ymm: __m256i, 2 quads, wide from 7, mask u32;
    row: _mm256_broadcastsi128_si256;
    splat: _mm256_set1_epi32;
    load: _mm256_loadu_si256;
    store: _mm256_storeu_si256;
    load_part: _mm256_maskz_loadu_epi8;
    store_part: _mm256_mask_storeu_epi8;
    add: _mm256_add_epi32;
    add64: _mm256_add_epi64;
    xor: _mm256_xor_si256;
    rotl: _mm256_rol_epi32;
    turn: _mm256_shuffle_epi32;
    below: _mm256_cmplt_epu32_mask;
    add_where: _mm256_mask_add_epi32;
    low32: _mm256_unpacklo_epi32;
    high32: _mm256_unpackhi_epi32;
    low64: _mm256_unpacklo_epi64;
    high64: _mm256_unpackhi_epi64;
    rows(row): _mm256_inserti128_si256::<1>(_mm256_broadcastsi128_si256(row(0)), row(1));
    transpose_quads(v): {
        let [a, b, c, d] = v;
        [
            _mm256_permute2x128_si256::<0x20>(a, b),
            _mm256_permute2x128_si256::<0x20>(c, d),
            _mm256_permute2x128_si256::<0x31>(a, b),
            _mm256_permute2x128_si256::<0x31>(c, d),
        ]
    };
}

token! {
    /// 512 bits.
    ///
    /// On a core of the Granite Rapids class, in cycles: one chain (up to 4 blocks) 236, two (up to
    /// 8) 371 to 380, the vertical pass 566 to 590; three chains cost as much as that.
    /// On Zen 5 410, 496 and 571.
    Zmm: __m512i, 4 quads, wide from 9, mask u64;
    row: _mm512_broadcast_i32x4;
    splat: _mm512_set1_epi32;
    load: _mm512_loadu_si512;
    store: _mm512_storeu_si512;
    load_part: _mm512_maskz_loadu_epi8;
    store_part: _mm512_mask_storeu_epi8;
    add: _mm512_add_epi32;
    add64: _mm512_add_epi64;
    xor: _mm512_xor_si512;
    rotl: _mm512_rol_epi32;
    turn: _mm512_shuffle_epi32;
    below: _mm512_cmplt_epu32_mask;
    add_where: _mm512_mask_add_epi32;
    low32: _mm512_unpacklo_epi32;
    high32: _mm512_unpackhi_epi32;
    low64: _mm512_unpacklo_epi64;
    high64: _mm512_unpackhi_epi64;
    rows(row): {
        let v = _mm512_broadcast_i32x4(row(0));
        let v = _mm512_inserti32x4::<1>(v, row(1));
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(v, row(2)), row(3))
    };
    transpose_quads(v): {
        let [a, b, c, d] = v;
        // The lanes 0 and 1, then 2 and 3, of two vectors each.
        let [ab, cd] = [_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d)];
        let [ab_high, cd_high] =
            [_mm512_shuffle_i32x4::<0xee>(a, b), _mm512_shuffle_i32x4::<0xee>(c, d)];
        [
            _mm512_shuffle_i32x4::<0x88>(ab, cd),
            _mm512_shuffle_i32x4::<0xdd>(ab, cd),
            _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
            _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
        ]
    };
}

/// Instructions that the compiler takes as they are: `asm!` with an effect that it can't see keeps
/// its place among others of that kind, and what comes in comes out in the same register.
impl InOrder for Zmm {
    #[inline(always)]
    fn add_to(self, to: &mut __m512i, v: __m512i) {
        avx512!(in_order::add(to, v));
    }

    #[inline(always)]
    fn xor_to(self, to: &mut __m512i, v: __m512i) {
        avx512!(in_order::xor(to, v));
    }

    #[inline(always)]
    fn rotl<const N: i32>(self, v: &mut __m512i) {
        avx512!(in_order::rotl::<N>(v));
    }

    #[inline(always)]
    fn tie(self, v: &mut __m512i, word: &mut u32) {
        avx512!(in_order::tie(v, word));
    }
}

/// Functions, since the register class wants the feature.
mod in_order {
    use super::*;

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn add(to: &mut __m512i, v: __m512i) {
        if cfg!(keyspring_no_asm) {
            *to = _mm512_add_epi32(*to, v);
            return;
        }
        // SAFETY: adds in registers, and AVX-512 may be used here.
        unsafe {
            asm!(
                "vpaddd {0}, {0}, {1}",
                inout(zmm_reg) *to,
                in(zmm_reg) v,
                options(nomem, nostack, preserves_flags),
            );
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn xor(to: &mut __m512i, v: __m512i) {
        if cfg!(keyspring_no_asm) {
            *to = _mm512_xor_si512(*to, v);
            return;
        }
        // SAFETY: as above, an exclusive or.
        unsafe {
            asm!(
                "vpxord {0}, {0}, {1}",
                inout(zmm_reg) *to,
                in(zmm_reg) v,
                options(nomem, nostack, preserves_flags),
            );
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn tie(v: &mut __m512i, word: &mut u32) {
        if cfg!(keyspring_no_asm) {
            return;
        }
        // SAFETY: there is no instruction; both registers go in and come out.
        unsafe {
            asm!(
                "/* {0} {1:e} */",
                inout(zmm_reg) * v,
                inout(reg) * word,
                options(nomem, nostack, preserves_flags),
            );
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn rotl<const N: i32>(v: &mut __m512i) {
        if cfg!(keyspring_no_asm) {
            *v = _mm512_rol_epi32::<N>(*v);
            return;
        }
        // SAFETY: as above, a rotation.
        unsafe {
            asm!(
                "vprold {0}, {0}, {1}",
                inout(zmm_reg) *v,
                const N,
                options(nomem, nostack, preserves_flags),
            );
        }
    }
}

/// The words 0 to 15, and the numbers of four blocks as the first word pair of a row each: what a
/// vector adds to the counter of its first block.
const LANE_NUMBERS: [u8; 64] = bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
const BLOCK_NUMBERS: [u8; 64] = bytes([0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);

/// Small words as a vector's bytes.
const fn bytes(words: [u8; 16]) -> [u8; 64] {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 16 {
        bytes[4 * i] = words[i];
        i += 1;
    }
    bytes
}

/// Four words in a vector.
#[inline(always)]
fn quad(words: [u32; 4]) -> __m128i {
    let [a, b, c, d] = words.map(u32::cast_signed);
    avx512!(_mm_setr_epi32(a, b, c, d))
}

/// A bit for each byte of a slice, as far as a vector reaches.
#[inline(always)]
fn mask(len: usize) -> u64 {
    u64::MAX.unbounded_shr(64 - len.min(64) as u32)
}

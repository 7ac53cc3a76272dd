//! NEON: two 128-bit vectors as one, for targets that always have them, as AArch64 does under an
//! operating system. (Bare-metal targets for soft floats do without, to keep vector registers out of
//! kernels.)
//!
//! A vector operation takes two cycles on Neoverse and Apple cores, and the big ones start four in a
//! cycle. So eight must be under way; four quarter rounds of single vectors would be half of that.

use core::arch::aarch64::{
    uint32x4_t, vaddq_u32, vcltq_u32, vcombine_u32, vdupq_n_u32, veorq_u32, vextq_u32,
    vget_high_u32, vget_low_u32, vld1q_u8, vld1q_u32, vqtbl1q_u8, vreinterpretq_u8_u32,
    vreinterpretq_u16_u32, vreinterpretq_u32_u8, vreinterpretq_u32_u16, vrev32q_u16, vshlq_n_u32,
    vst1q_u8, vsubq_u32, vtrn1q_u32, vtrn2q_u32,
};
use core::arch::asm;

use super::{Backend, Kernels};
use crate::chacha::batch::{self, Blocks, Lanes};
use crate::chacha::data::{Mode, mode};
use crate::chacha::isa::Isa;
use crate::chacha::{State, shapes};
use crate::cpu::Head;

pub(super) const ROW: Backend = Backend {
    head: Head { name: "neon", level: 10, usable: || true },
    kernels: KERNELS,
    on_zen5: KERNELS.with_scalar_singles(),
};

const KERNELS: Kernels = Kernels {
    longest_pass: 8,
    // By llvm-mca, 324 cycles scalar to 560 in vectors on Neoverse N1, 243 to 560 on Neoverse V1:
    // the latency of an instruction counts alone, and general-purpose registers have one cycle.
    single_block_goes_scalar: true,
    weaves_a_lead: false,
    in_place: run::<mode::InPlace>,
    apart: run::<mode::Apart>,
    keystream: run::<mode::Keystream>,
    lanes,
};

fn run<M: Mode>(state: &State, first: u64, lead: Option<&mut [u8; 64]>, data: M::Data<'_>) {
    shapes::run(Neon(()), state, first, lead, data);
}

fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    batch::lanes(Neon(()), lanes, blocks);
}

/// The proof that NEON may be used: this file is compiled only where the target enables it.
#[derive(Clone, Copy)]
pub(crate) struct Neon(pub(crate) ());

/// Two of NEON's vectors.
type Pair = [uint32x4_t; 2];

/// An intrinsic whose only requirement is NEON.
macro_rules! neon {
    ($call:expr) => {{
        // SAFETY: the target enables NEON, or this file would not be compiled.
        unsafe { $call }
    }};
}

/// The same for either vector of some pairs.
macro_rules! both {
    (|$($pair:ident),+| $one:expr) => {{
        let one = |$($pair: uint32x4_t),+| neon!($one);
        [one($($pair[0]),+), one($($pair[1]),+)]
    }};
}

/// Rotates each word to the left: shifts a copy, and inserts the bits that it lost.
///
/// The compiler would add those bits (USRA), for which Neoverse N1 takes four cycles and not two. And
/// the statement is not `pure`, so that it keeps its place: left to itself, the compiler mixes
/// quarter rounds until it spills 33 vectors in each double round, instead of 12.
#[inline(always)]
fn rotl<const LEFT: i32, const RIGHT: i32>(v: uint32x4_t) -> uint32x4_t {
    const { assert!(LEFT + RIGHT == 32) };
    let mut rotated = neon!(vshlq_n_u32::<LEFT>(v));
    // SAFETY: the instruction reads and writes these two registers alone.
    unsafe {
        asm!(
            "sri {0:v}.4s, {1:v}.4s, #{2}", inout(vreg) rotated, in(vreg) v, const RIGHT,
            options(nomem, nostack, preserves_flags)
        );
    }
    rotated
}

#[inline(always)]
fn words(words: [u32; 4]) -> uint32x4_t {
    // SAFETY: the array has 4 words, and the load needs no alignment.
    unsafe { vld1q_u32(words.as_ptr()) }
}

#[inline(always)]
fn bytes(bytes: &[u8; 16]) -> uint32x4_t {
    // SAFETY: the array has 16 bytes, and the load needs no alignment.
    unsafe { vreinterpretq_u32_u8(vld1q_u8(bytes.as_ptr())) }
}

impl Isa for Neon {
    type V = Pair;

    const QUADS: usize = 2;

    /// By llvm-mca, three chains cost less than the vertical pass of 8 blocks: on Neoverse N1 105 to
    /// 128 cycles a double round, on Neoverse V1 59 to 65.
    const WIDE_FROM: usize = 7;

    /// Two quarter rounds of pairs, and all else that is alive, all but fit the 32 registers.
    const SIDE_BY_SIDE: bool = false;

    #[inline(always)]
    fn splat(self, word: u32) -> Pair {
        [neon!(vdupq_n_u32(word)); 2]
    }

    #[inline(always)]
    fn row(self, row: [u32; 4]) -> Pair {
        [words(row); 2]
    }

    #[inline(always)]
    fn rows(self, row: impl Fn(usize) -> [u32; 4]) -> Pair {
        [words(row(0)), words(row(1))]
    }

    #[inline(always)]
    fn last_row(self, counter: u64, nonce: u64) -> Pair {
        [counter, counter.wrapping_add(1)].map(|counter| {
            words([counter as u32, (counter >> 32) as u32, nonce as u32, (nonce >> 32) as u32])
        })
    }

    #[inline(always)]
    fn count_lanes(self, first: u64) -> (Pair, Pair) {
        let (low, high) = (self.splat(first as u32), self.splat((first >> 32) as u32));
        let sum = self.add(low, [words([0, 1, 2, 3]), words([4, 5, 6, 7])]);
        // A lane has a carry where its sum is below what it started from. The comparison gives -1
        // there and 0 elsewhere.
        (sum, both!(|sum, low, high| vsubq_u32(high, vcltq_u32(sum, low))))
    }

    #[inline(always)]
    fn load(self, data: &[u8]) -> Pair {
        let (halves, _) = data.first_chunk::<32>().expect("a pair's bytes").as_chunks();
        [bytes(&halves[0]), bytes(&halves[1])]
    }

    #[inline(always)]
    fn store(self, data: &mut [u8], pair: Pair) {
        let data = data.first_chunk_mut::<32>().expect("a pair's bytes");
        for (half, v) in data.as_chunks_mut::<16>().0.iter_mut().zip(pair) {
            // SAFETY: the array has 16 bytes, and the store needs no alignment.
            unsafe { vst1q_u8(half.as_mut_ptr(), vreinterpretq_u8_u32(v)) };
        }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        both!(|a, b| vaddq_u32(a, b))
    }

    #[inline(always)]
    fn xor(self, a: Pair, b: Pair) -> Pair {
        both!(|a, b| veorq_u32(a, b))
    }

    #[inline(always)]
    fn rotl16(self, v: Pair) -> Pair {
        both!(|v| vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(v))))
    }

    #[inline(always)]
    fn rotl12(self, v: Pair) -> Pair {
        v.map(rotl::<12, 20>)
    }

    #[inline(always)]
    fn rotl8(self, v: Pair) -> Pair {
        let shuffle = bytes(&[3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14]);
        both!(|v| {
            let (bytes, shuffle) = (vreinterpretq_u8_u32(v), vreinterpretq_u8_u32(shuffle));
            vreinterpretq_u32_u8(vqtbl1q_u8(bytes, shuffle))
        })
    }

    #[inline(always)]
    fn rotl7(self, v: Pair) -> Pair {
        v.map(rotl::<7, 25>)
    }

    #[inline(always)]
    fn turn1(self, v: Pair) -> Pair {
        both!(|v| vextq_u32::<1>(v, v))
    }

    #[inline(always)]
    fn turn2(self, v: Pair) -> Pair {
        both!(|v| vextq_u32::<2>(v, v))
    }

    #[inline(always)]
    fn turn3(self, v: Pair) -> Pair {
        both!(|v| vextq_u32::<3>(v, v))
    }

    #[inline(always)]
    fn transpose_words(self, [a, b, c, d]: [Pair; 4]) -> [Pair; 4] {
        let even = |a: Pair, b: Pair| both!(|a, b| vtrn1q_u32(a, b));
        let odd = |a: Pair, b: Pair| both!(|a, b| vtrn2q_u32(a, b));
        let low = |a: Pair, b: Pair| both!(|a, b| vcombine_u32(vget_low_u32(a), vget_low_u32(b)));
        let high =
            |a: Pair, b: Pair| both!(|a, b| vcombine_u32(vget_high_u32(a), vget_high_u32(b)));
        [
            low(even(a, b), even(c, d)),
            low(odd(a, b), odd(c, d)),
            high(even(a, b), even(c, d)),
            high(odd(a, b), odd(c, d)),
        ]
    }

    /// The lanes are vectors of their own.
    #[inline(always)]
    fn transpose_quads(self, [a, b, c, d]: [Pair; 4]) -> [Pair; 4] {
        [[a[0], b[0]], [c[0], d[0]], [a[1], b[1]], [c[1], d[1]]]
    }
}

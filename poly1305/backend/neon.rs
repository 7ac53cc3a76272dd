//! NEON: radix 2^26, four lanes in two vectors.

use core::arch::aarch64::{
    uint32x4_t, uint64x2_t, vaddq_u64, vandq_u64, vcombine_u64, vcreate_u64, vdupq_n_u64,
    vget_low_u32, vld1q_u8, vmull_high_u32, vmull_u32, vorrq_u64, vreinterpretq_u32_u64,
    vreinterpretq_u64_u8, vshlq_n_u64, vshrq_n_u64, vst1q_u64, vtrn1q_u64, vtrn2q_u64, vuzp1q_u32,
};
use core::arch::asm;

use super::{Backend, Batch};
use crate::cpu::Head;
use crate::poly1305::batch::{self, Message};
use crate::poly1305::isa::{Isa, MOST_LANES};
use crate::poly1305::lanes26::Radix26;
use crate::poly1305::scalar::State;
use crate::poly1305::{Keep, lanes};

pub(super) const ROW: Backend = Backend {
    head: Head { name: "neon", level: 10, usable: || true },
    min_blocks: MIN_BLOCKS,
    min_blocks_cached: MIN_BLOCKS_CACHED,
    blocks,
    batch: Some(Batch { lanes: Neon::LANES, step_cost: 6, start_cost: 18, tags }),
};

/// 1152 bytes: a model, not a measurement. By llvm-mca, on Neoverse V1 a block costs 15 cycles in scalar
/// code and 8.5 in pairs of groups, and the powers of r and the fold about 450. On N1 (37 and 14.4
/// cycles) 30 blocks would do.
const MIN_BLOCKS: usize = 72;

/// 576 bytes, by the same model.
const MIN_BLOCKS_CACHED: usize = 36;

fn blocks(state: &mut State, keep: Keep<'_>, blocks: &[[u8; 16]]) {
    lanes::blocks::<_, Radix26, _>(Neon(()), state, keep, blocks);
}

fn tags(messages: &[Message<'_>], tags: &mut [[u8; 16]]) {
    batch::tags::<_, Radix26, _, 1>(Neon(()), messages, tags);
}

/// The proof that NEON may be used: this file is compiled only where the target enables it.
#[derive(Clone, Copy)]
struct Neon(());

/// Two of NEON's vectors.
type Pair = [uint64x2_t; 2];

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
        let one = |$($pair: uint64x2_t),+| neon!($one);
        [one($($pair[0]),+), one($($pair[1]),+)]
    }};
}

/// The low 32 bits of each lane, what the instructions multiply.
#[inline(always)]
fn low_words([a, b]: Pair) -> uint32x4_t {
    neon!(vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
}

#[inline(always)]
fn load(block: &[u8; 16]) -> uint64x2_t {
    // SAFETY: the array has 16 bytes, and the load needs no alignment.
    unsafe { vreinterpretq_u64_u8(vld1q_u8(block.as_ptr())) }
}

/// The low and the high halves of four blocks.
#[inline(always)]
fn halves(block: impl Fn(usize) -> uint64x2_t) -> (Pair, Pair) {
    let (even, odd) = ([block(0), block(2)], [block(1), block(3)]);
    (both!(|even, odd| vtrn1q_u64(even, odd)), both!(|even, odd| vtrn2q_u64(even, odd)))
}

impl Isa for Neon {
    type V = Pair;

    type Factor = Pair;

    const LANES: usize = 4;

    const ORDER: &'static [usize] = &[0, 1, 2, 3];

    #[inline(always)]
    fn splat(self, x: u64) -> Pair {
        [neon!(vdupq_n_u64(x)); 2]
    }

    #[inline(always)]
    fn lanes(self, x: impl Fn(usize) -> u64) -> Pair {
        let pair = |i| neon!(vcombine_u64(vcreate_u64(x(i)), vcreate_u64(x(i + 1))));
        [pair(0), pair(2)]
    }

    #[inline(always)]
    fn load(self, blocks: &[[u8; 16]]) -> (Pair, Pair) {
        let blocks = blocks.first_chunk::<4>().expect("a group");
        halves(|i| load(&blocks[i]))
    }

    #[inline(always)]
    fn gather<'a>(self, block: impl Fn(usize) -> &'a [u8; 16]) -> (Pair, Pair) {
        halves(|i| load(block(i)))
    }

    #[inline(always)]
    fn load_last(self, blocks: &[[u8; 16]]) -> (Pair, Pair) {
        let [zero, _] = self.splat(0);
        halves(|i| (i + blocks.len()).checked_sub(4).map_or(zero, |i| load(&blocks[i])))
    }

    #[inline(always)]
    fn factor(self, v: Pair) -> Pair {
        v
    }

    #[inline(always)]
    fn vector(self, factor: Pair) -> Pair {
        factor
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        both!(|a, b| vaddq_u64(a, b))
    }

    #[inline(always)]
    fn and(self, a: Pair, b: Pair) -> Pair {
        both!(|a, b| vandq_u64(a, b))
    }

    #[inline(always)]
    fn or(self, a: Pair, b: Pair) -> Pair {
        both!(|a, b| vorrq_u64(a, b))
    }

    #[inline(always)]
    fn shift_left<const N: i32>(self, v: Pair) -> Pair {
        both!(|v| vshlq_n_u64::<N>(v))
    }

    #[inline(always)]
    fn shift_right<const N: i32>(self, v: Pair) -> Pair {
        both!(|v| vshrq_n_u64::<N>(v))
    }

    #[inline(always)]
    fn multiply(self, a: Pair, b: Pair) -> Pair {
        let (a, b) = (low_words(a), low_words(b));
        [neon!(vmull_u32(vget_low_u32(a), vget_low_u32(b))), neon!(vmull_high_u32(a, b))]
    }

    #[inline(always)]
    fn forget(self, [mut a, mut b]: Pair) -> Pair {
        // SAFETY: there is no instruction; the registers go in and come out.
        unsafe {
            asm!(
                "/* {0:v} {1:v} */", inout(vreg) a, inout(vreg) b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        [a, b]
    }

    #[inline(always)]
    fn store(self, v: Pair) -> [u64; MOST_LANES] {
        let mut lanes = [0; MOST_LANES];
        for (pair, v) in lanes.as_chunks_mut::<2>().0.iter_mut().zip(v) {
            // SAFETY: the array has 2 words, and the store needs no alignment.
            unsafe { vst1q_u64(pair.as_mut_ptr(), v) };
        }
        lanes
    }
}

//! Tokens that need no instruction set, so that the vector bodies run on every machine: one that
//! computes, and one that proves bounds.

use core::cell::Cell;

use zeroize::Zeroize;

use super::isa::{Isa, MOST_LANES, Multiply52};
use super::lanes::{self, Radix};
use super::powers::Keep;
use super::scalar::State;

/// A vector body as a function of its own: in line it would be compiled, unrolled, for each call of it.
#[inline(never)]
pub(super) fn blocks<I: Isa, R: Radix<I, N>, const N: usize>(
    isa: I,
    state: &mut State,
    keep: Keep<'_>,
    blocks: &[[u8; 16]],
) {
    lanes::blocks::<I, R, N>(isa, state, keep, blocks);
}

/// `L` lanes as an array, in the order that unpacking gives.
#[derive(Clone, Copy)]
pub(super) struct Plain<const L: usize>;

type Lanes = [u64; MOST_LANES];

/// In the order of AVX2's and AVX-512's unpacking.
const fn order(lanes: usize) -> &'static [usize] {
    match lanes {
        4 => &[0, 2, 1, 3],
        8 => &[0, 4, 1, 5, 2, 6, 3, 7],
        _ => &[0, 1],
    }
}

fn each(f: impl Fn(usize) -> u64) -> Lanes {
    core::array::from_fn(f)
}

impl<const L: usize> Isa for Plain<L> {
    type V = Lanes;

    type Factor = Lanes;

    const LANES: usize = L;

    const ORDER: &'static [usize] = order(L);

    fn splat(self, x: u64) -> Lanes {
        self.lanes(|_| x)
    }

    fn lanes(self, x: impl Fn(usize) -> u64) -> Lanes {
        each(|lane| if lane < L { x(lane) } else { 0 })
    }

    fn load(self, blocks: &[[u8; 16]]) -> (Lanes, Lanes) {
        let block = |lane: usize| u128::from_le_bytes(blocks[..L][Self::ORDER[lane]]);
        (self.lanes(|lane| block(lane) as u64), self.lanes(|lane| (block(lane) >> 64) as u64))
    }

    fn factor(self, v: Lanes) -> Lanes {
        v
    }

    fn vector(self, factor: Lanes) -> Lanes {
        factor
    }

    fn add(self, a: Lanes, b: Lanes) -> Lanes {
        each(|lane| a[lane] + b[lane])
    }

    fn and(self, a: Lanes, b: Lanes) -> Lanes {
        each(|lane| a[lane] & b[lane])
    }

    fn or(self, a: Lanes, b: Lanes) -> Lanes {
        each(|lane| a[lane] | b[lane])
    }

    fn shift_left<const N: i32>(self, v: Lanes) -> Lanes {
        each(|lane| v[lane] << N)
    }

    fn shift_right<const N: i32>(self, v: Lanes) -> Lanes {
        each(|lane| v[lane] >> N)
    }

    fn multiply(self, a: Lanes, b: Lanes) -> Lanes {
        each(|lane| u64::from(a[lane] as u32) * u64::from(b[lane] as u32))
    }

    fn forget(self, v: Lanes) -> Lanes {
        v
    }

    fn store(self, v: Lanes) -> [u64; MOST_LANES] {
        v
    }
}

impl<const L: usize> Multiply52 for Plain<L> {
    fn add_low(self, sum: Lanes, a: Lanes, b: Lanes) -> Lanes {
        each(|lane| sum[lane] + (product_52(a[lane], b[lane]) as u64 & MASK_52))
    }

    fn add_high(self, sum: Lanes, a: Lanes, b: Lanes) -> Lanes {
        each(|lane| sum[lane] + (product_52(a[lane], b[lane]) >> 52) as u64)
    }
}

const MASK_52: u64 = (1 << 52) - 1;

fn product_52(a: u64, b: u64) -> u128 {
    u128::from(a & MASK_52) * u128::from(b & MASK_52)
}

/// `L` lanes that each stand for every number in an interval. Whatever leaves a lane, or has more
/// bits than a multiplication takes, panics.
#[derive(Clone, Copy)]
pub(super) struct Bounds<const L: usize>;

/// Everything from 0 to a most: no operation subtracts, and each grows with its operands, so the
/// most that comes out is that of the most that goes in, and the least is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UpTo(pub(super) u64);

impl Zeroize for UpTo {
    fn zeroize(&mut self) {}
}

/// The most that came out of additions, and went into multiplications on either side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Most {
    pub(super) sum: u64,
    pub(super) operand: u64,
    pub(super) wrapped: u64,
}

std::thread_local! {
    /// Of the bodies that this thread has run on [`Bounds`] since it was taken.
    pub(super) static MOST: Cell<Most> = const { Cell::new(Most { sum: 0, operand: 0, wrapped: 0 }) };
}

impl UpTo {
    #[track_caller]
    fn of(most: Option<u64>) -> Self {
        Self(most.expect("a lane overflows"))
    }

    fn sum(self) -> Self {
        let most = MOST.get();
        MOST.set(Most { sum: most.sum.max(self.0), ..most });
        self
    }

    /// Both sides of a multiplication that takes so many bits: a limb, and one of a power.
    #[track_caller]
    fn times(self, power: Self, bits: u32) -> u128 {
        let Most { sum, operand, wrapped } = MOST.get();
        MOST.set(Most { sum, operand: operand.max(self.0), wrapped: wrapped.max(power.0) });
        self.operand(bits) * power.operand(bits)
    }

    /// An operand of a multiplication that takes so many bits.
    #[track_caller]
    fn operand(self, bits: u32) -> u128 {
        assert!(self.0 >> bits == 0, "an operand of more than {bits} bits: {:#x}", self.0);
        self.0.into()
    }
}

impl<const L: usize> Isa for Bounds<L> {
    type V = UpTo;

    type Factor = UpTo;

    const LANES: usize = L;

    const ORDER: &'static [usize] = order(L);

    fn splat(self, x: u64) -> UpTo {
        UpTo(x)
    }

    fn lanes(self, x: impl Fn(usize) -> u64) -> UpTo {
        UpTo((0..L).map(x).max().expect("a lane"))
    }

    /// Every message.
    fn load(self, blocks: &[[u8; 16]]) -> (UpTo, UpTo) {
        assert!(blocks.len() >= L);
        (UpTo(u64::MAX), UpTo(u64::MAX))
    }

    fn factor(self, v: UpTo) -> UpTo {
        v
    }

    fn vector(self, factor: UpTo) -> UpTo {
        factor
    }

    #[track_caller]
    fn add(self, a: UpTo, b: UpTo) -> UpTo {
        UpTo::of(a.0.checked_add(b.0)).sum()
    }

    fn and(self, a: UpTo, b: UpTo) -> UpTo {
        a.min(b)
    }

    /// What is put together has no bit in common; where it had, it would stay below the sum.
    #[track_caller]
    fn or(self, a: UpTo, b: UpTo) -> UpTo {
        UpTo::of(a.0.checked_add(b.0))
    }

    fn pick(self, a: UpTo, b: UpTo, _: impl Fn(usize) -> bool) -> UpTo {
        a.max(b)
    }

    /// A lane that loses bits is one that the next addition overflows, unless a mask comes first, as
    /// where blocks are taken apart.
    fn shift_left<const N: i32>(self, v: UpTo) -> UpTo {
        UpTo(if v.0.leading_zeros() < N as u32 { u64::MAX << N } else { v.0 << N })
    }

    fn shift_right<const N: i32>(self, v: UpTo) -> UpTo {
        UpTo(v.0 >> N)
    }

    #[track_caller]
    fn multiply(self, a: UpTo, b: UpTo) -> UpTo {
        UpTo::of(u64::try_from(a.times(b, 32)).ok())
    }

    fn forget(self, v: UpTo) -> UpTo {
        v
    }

    fn store(self, v: UpTo) -> [u64; MOST_LANES] {
        each(|lane| if lane < L { v.0 } else { 0 })
    }
}

impl<const L: usize> Multiply52 for Bounds<L> {
    #[track_caller]
    fn add_low(self, sum: UpTo, a: UpTo, b: UpTo) -> UpTo {
        let product = a.times(b, 52);
        self.add(sum, UpTo(product.min(MASK_52.into()) as u64))
    }

    #[track_caller]
    fn add_high(self, sum: UpTo, a: UpTo, b: UpTo) -> UpTo {
        self.add(sum, UpTo((a.times(b, 52) >> 52) as u64))
    }
}

//! The vector body: how a message is dealt to lanes, whatever the radix.
//!
//! ```text
//! L = 4 lanes, 10 blocks:
//!
//!            group 0   group 1   group 2
//! lane 0   |  zero   |  m2     |  m6     |    h = h r^L + m      for each group
//! lane 1   |  zero   |  m3     |  m7     |
//! lane 2   |  h + m0 |  m4     |  m8     |    at the end, lane by lane, h times
//! lane 3   |  m1     |  m5     |  m9     |    r^4, r^3, r^2, r; and the sum of the lanes
//! ```
//!
//! 1. A group that is not full is the first one, and has zeros in front: they come to nothing in
//!    every product. So the last group always ends at r^1, and there is no tail.
//! 2. The accumulator so far enters with the first block.
//! 3. In long messages two or four groups share one carry: `h r^2L + m0 r^L + m1` needs r^2L.

use core::hint::black_box;
use core::marker::PhantomData;

use zeroize::Zeroize;

use super::isa::{Isa, MOST_LANES};
use super::powers::Powers;
use super::scalar::State;

/// Arithmetic modulo 2^130 - 5 on numbers of `N` limbs, one limb to a vector. The bounds that hold
/// are told by each radix.
pub(super) trait Radix<I: Isa, const N: usize> {
    /// A sum of products, not carried yet.
    type Sum;

    /// From so many groups on, what the carries of two groups at a time, and of four, save is more
    /// than the further powers cost.
    const TWO_FROM: usize;
    const FOUR_FROM: usize;

    /// Bit 128 of a block, in the top limb.
    const TOP: u64;

    /// The limbs of blocks whose low and high halves are given, and what is above them.
    fn split(isa: I, low: I::V, high: I::V, top: I::V) -> [I::V; N];

    /// A limb times what it is worth 130 bits further down.
    fn wrap(isa: I, limb: I::V) -> I::V;

    /// A number as a sum.
    fn sum(isa: I, number: [I::V; N]) -> Self::Sum;

    /// Adds a product.
    fn add_product(isa: I, sum: Self::Sum, a: [I::V; N], power: &Power<I::V, N>) -> Self::Sum;

    /// Brings limbs back to their bits, or nearly so.
    fn carry(isa: I, sum: Self::Sum) -> [I::V; N];
}

/// A power of r, and its limbs as they are where they wrap.
pub(super) struct Power<V: Zeroize, const N: usize> {
    pub(super) limbs: [V; N],
    pub(super) wrapped: [V; N],
}

impl<V: Copy + Zeroize, const N: usize> Power<V, N> {
    #[inline(always)]
    pub(super) fn new<I: Isa<V = V>, R: Radix<I, N>>(isa: I, limbs: [V; N]) -> Self {
        let mut wrapped = limbs;
        for limb in &mut wrapped {
            *limb = R::wrap(isa, *limb);
        }
        Self { limbs, wrapped }
    }

    /// The same power in every lane.
    #[inline(always)]
    fn splat<I: Isa<V = V>, R: Radix<I, N>>(isa: I, power: &[u64]) -> Self {
        Self::new::<I, R>(isa, numbers(isa, |limb, _| power[limb]))
    }
}

impl<V: Zeroize, const N: usize> Drop for Power<V, N> {
    #[inline(always)]
    fn drop(&mut self) {
        self.limbs.zeroize();
        self.wrapped.zeroize();
    }
}

/// A number for each lane, limb by limb.
#[inline(always)]
pub(super) fn numbers<I: Isa, const N: usize>(
    isa: I,
    limb: impl Fn(usize, usize) -> u64,
) -> [I::V; N] {
    let mut numbers = [isa.splat(0); N];
    for (i, vector) in numbers.iter_mut().enumerate() {
        *vector = isa.lanes(|lane| limb(i, lane));
    }
    numbers
}

/// The number in each lane, by limb and lane.
#[inline(always)]
pub(super) fn store<I: Isa, const N: usize>(isa: I, numbers: [I::V; N]) -> [[u64; MOST_LANES]; N] {
    let mut stored = [[0; MOST_LANES]; N];
    for (lanes, vector) in stored.iter_mut().zip(numbers) {
        *lanes = isa.store(vector);
    }
    stored
}

/// Takes in whole blocks, at least one.
#[inline(always)]
pub(super) fn blocks<I: Isa, R: Radix<I, N>, const N: usize>(
    isa: I,
    state: &mut State,
    powers: &mut Option<Powers>,
    blocks: &[[u8; 16]],
) {
    let groups = blocks.len().div_ceil(I::LANES);
    let powers = Powers::ready::<I, R, N>(isa, powers, state, groups);

    let (first, mut rest) = blocks.split_at(blocks.len() - (groups - 1) * I::LANES);
    let mut h = first_group::<I, R, N>(isa, state, first);
    let one = Power::splat::<I, R>(isa, &powers.groups[0]);
    let singly = if powers.known == 1 { groups - 1 } else { (groups - 1) % 2 };
    for _ in 0..singly {
        h = step::<I, R, N, 1>(isa, h, &mut rest, [&one]);
    }
    if powers.known > 1 {
        let two = Power::splat::<I, R>(isa, &powers.groups[1]);
        let pairs = (groups - 1) / 2;
        for _ in 0..if powers.known == 2 { pairs } else { pairs % 2 } {
            h = step::<I, R, N, 2>(isa, h, &mut rest, [&two, &one]);
        }
        if powers.known == 4 && pairs > 1 {
            let three = Power::splat::<I, R>(isa, &powers.groups[2]);
            let four = Power::splat::<I, R>(isa, &powers.groups[3]);
            for _ in 0..pairs / 2 {
                h = step::<I, R, N, 4>(isa, h, &mut rest, [&four, &three, &two, &one]);
            }
        }
    }

    let last = numbers(isa, |limb, lane| powers.lanes[limb][lane]);
    let h = multiply::<I, R, N>(isa, h, &Power::new::<I, R>(isa, last));
    state.set_limbs(store(isa, h).map(|lanes| lanes.iter().sum()));
}

/// The first group, of at most `LANES` blocks, with the accumulator so far.
#[inline(always)]
fn first_group<I: Isa, R: Radix<I, N>, const N: usize>(
    isa: I,
    state: &State,
    blocks: &[[u8; 16]],
) -> [I::V; N] {
    let empty = I::LANES - blocks.len();
    let (low, high) = if empty == 0 { isa.load(blocks) } else { isa.load_last(blocks) };
    let (live, first) = (&Masks::<I>::LIVE[empty], &Masks::<I>::FIRST[empty]);
    let top = isa.and(isa.lanes(|lane| live[lane]), isa.splat(R::TOP));
    let mut h = R::split(isa, low, high, top);
    let first = isa.lanes(|lane| first[lane]);
    for (h, limb) in h.iter_mut().zip(state.limbs::<N>()) {
        *h = isa.add(*h, isa.and(isa.splat(limb), first));
    }
    h
}

/// The lanes of a first group, by how many blocks are missing in it. Tables, since the compiler makes
/// long work of comparisons lane by lane.
struct Masks<I>(PhantomData<I>);

impl<I: Isa> Masks<I> {
    /// The lanes that hold a block.
    const LIVE: [[u64; MOST_LANES]; MOST_LANES] = Self::table(false);
    /// The lane of the first block.
    const FIRST: [[u64; MOST_LANES]; MOST_LANES] = Self::table(true);

    const fn table(only_first: bool) -> [[u64; MOST_LANES]; MOST_LANES] {
        let mut table = [[0; MOST_LANES]; MOST_LANES];
        let mut empty = 0;
        while empty < I::LANES {
            let mut lane = 0;
            while lane < I::LANES {
                let block = I::ORDER[lane];
                if block == empty || block > empty && !only_first {
                    table[empty][lane] = u64::MAX;
                }
                lane += 1;
            }
            empty += 1;
        }
        table
    }
}

/// Takes `K` groups off the rest and into h, with one carry.
#[inline(always)]
pub(super) fn step<I: Isa, R: Radix<I, N>, const N: usize, const K: usize>(
    isa: I,
    h: [I::V; N],
    rest: &mut &[[u8; 16]],
    powers: [&Power<I::V, N>; K],
) -> [I::V; N] {
    // Powers are taken from memory, as operands, each time; see `Isa::multiply`.
    let powers = black_box(powers);
    let (groups, after) = rest.split_at(K * I::LANES);
    *rest = after;
    let mut sum = R::sum(isa, message::<I, R, N>(isa, &groups[(K - 1) * I::LANES..]));
    for (group, power) in groups.chunks_exact(I::LANES).zip(&powers[1..]) {
        sum = R::add_product(isa, sum, message::<I, R, N>(isa, group), power);
    }
    // Last, since all the rest can be computed while h is not there yet.
    sum = R::add_product(isa, sum, forget(isa, h), powers[0]);
    R::carry(isa, sum)
}

/// The limbs of a group.
#[inline(always)]
fn message<I: Isa, R: Radix<I, N>, const N: usize>(isa: I, group: &[[u8; 16]]) -> [I::V; N] {
    let (low, high) = isa.load(group);
    R::split(isa, low, high, isa.splat(R::TOP))
}

/// A product, carried.
#[inline(always)]
pub(super) fn multiply<I: Isa, R: Radix<I, N>, const N: usize>(
    isa: I,
    a: [I::V; N],
    power: &Power<I::V, N>,
) -> [I::V; N] {
    let zero = R::sum(isa, [isa.splat(0); N]);
    R::carry(isa, R::add_product(isa, zero, forget(isa, a), power))
}

#[inline(always)]
fn forget<I: Isa, const N: usize>(isa: I, mut a: [I::V; N]) -> [I::V; N] {
    for limb in &mut a {
        *limb = isa.forget(*limb);
    }
    a
}

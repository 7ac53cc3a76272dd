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
//! 3. In long messages two, four or eight groups share one carry: `h r^2L + m0 r^L + m1` needs r^2L.

use core::hint::black_box;
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

use zeroize::{Zeroize, Zeroizing};

use super::isa::{Isa, MOST_LANES};
use super::powers::{self, Keep};
use super::scalar::State;

/// Arithmetic modulo 2^130 - 5 on numbers of `N` limbs, one limb to a vector. The bounds that hold
/// are told by each radix.
pub(super) trait Radix<I: Isa, const N: usize> {
    /// A sum of products, not carried yet.
    type Sum: Copy;

    /// From so many groups on, what is saved where two, four and eight groups share a carry is more
    /// than the further powers cost.
    const SHARED_FROM: [usize; 3];

    /// Bit 128 of a block, in the top limb.
    const TOP: u64;

    /// The limbs of blocks whose low and high halves are given, and what is above them.
    fn split(isa: I, low: I::V, high: I::V, top: I::V) -> [I::V; N];

    /// A limb times what it is worth 130 bits further down.
    fn wrap(isa: I, limb: I::V) -> I::V;

    /// A number as a sum.
    fn sum(isa: I, number: [I::V; N]) -> Self::Sum;

    /// Adds two sums.
    fn join(isa: I, a: Self::Sum, b: Self::Sum) -> Self::Sum;

    /// Adds a product.
    fn add_product(isa: I, sum: Self::Sum, a: [I::V; N], power: &Power<I::V, N>) -> Self::Sum;

    /// Brings limbs back to their bits, or nearly so.
    fn carry(isa: I, sum: Self::Sum) -> [I::V; N];
}

/// A power of r, and its limbs as they are where they wrap: vectors, or factors in memory.
#[derive(Clone, Copy)]
pub(super) struct Power<V, const N: usize> {
    pub(super) limbs: [V; N],
    pub(super) wrapped: [V; N],
}

impl<V: Copy, const N: usize> Power<V, N> {
    #[inline(always)]
    pub(super) fn new<I: Isa<V = V>, R: Radix<I, N>>(isa: I, limbs: [V; N]) -> Self {
        let mut wrapped = limbs;
        for limb in &mut wrapped {
            *limb = R::wrap(isa, *limb);
        }
        Self { limbs, wrapped }
    }

    /// A power that is the same in every lane, as it lies in memory.
    #[inline(always)]
    pub(super) fn factors<I: Isa<V = V>>(&self, isa: I) -> Power<I::Factor, N> {
        let mut factors = Power {
            limbs: [isa.factor(self.limbs[0]); N],
            wrapped: [isa.factor(self.limbs[0]); N],
        };
        for i in 0..N {
            factors.limbs[i] = isa.factor(self.limbs[i]);
            factors.wrapped[i] = isa.factor(self.wrapped[i]);
        }
        factors
    }
}

impl<F: Copy, const N: usize> Power<F, N> {
    #[inline(always)]
    pub(super) fn vectors<I: Isa<Factor = F>>(&self, isa: I) -> Power<I::V, N> {
        let mut vectors = Power {
            limbs: [isa.vector(self.limbs[0]); N],
            wrapped: [isa.vector(self.limbs[0]); N],
        };
        for i in 0..N {
            vectors.limbs[i] = isa.vector(self.limbs[i]);
            vectors.wrapped[i] = isa.vector(self.wrapped[i]);
        }
        vectors
    }
}

impl<V: Zeroize, const N: usize> Zeroize for Power<V, N> {
    #[inline(always)]
    fn zeroize(&mut self) {
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

/// The number in the first lane, in every lane.
#[inline(always)]
pub(super) fn spread<I: Isa, const N: usize>(isa: I, mut number: [I::V; N]) -> [I::V; N] {
    for limb in &mut number {
        *limb = isa.splat(isa.store(*limb)[0]);
    }
    number
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

/// Takes in whole blocks, at least one. Groups that share a carry with fewer others come first.
#[inline(always)]
pub(super) fn blocks<I: Isa, R: Radix<I, N>, const N: usize>(
    isa: I,
    state: &mut State,
    keep: Keep<'_>,
    blocks: &[[u8; 16]],
) {
    let groups = blocks.len().div_ceil(I::LANES);
    let (first, mut rest) = blocks.split_at(blocks.len() - (groups - 1) * I::LANES);
    let [two_from, four_from, eight_from] = R::SHARED_FROM;

    let mut powers = powers::ready::<I, R, N>(isa, keep, state);
    let mut h = first_group::<I, R, N>(isa, state, first);
    if groups > 1 {
        let of = |left: usize, shared: usize, from: usize| {
            if groups >= from { left % (2 * shared) / shared } else { left / shared }
        };
        let one = powers.group::<I, R>(isa);
        for _ in 0..of(groups - 1, 1, two_from) {
            h = step::<I, R, N, 1>(isa, h, &mut rest, black_box([&one]));
        }
        if groups >= two_from {
            let two = powers.groups::<I, R>(isa, 2, [&one, &one]);
            for _ in 0..of(groups - 1, 2, four_from) {
                h = step::<I, R, N, 2>(isa, h, &mut rest, black_box([&two, &one]));
            }
            if groups >= four_from {
                let three = powers.groups::<I, R>(isa, 3, [&two, &one]);
                let four = powers.groups::<I, R>(isa, 4, [&two, &two]);
                for _ in 0..of(groups - 1, 4, eight_from) {
                    h = step::<I, R, N, 4>(
                        isa,
                        h,
                        &mut rest,
                        black_box([&four, &three, &two, &one]),
                    );
                }
                if groups >= eight_from {
                    let five = powers.groups::<I, R>(isa, 5, [&four, &one]);
                    let six = powers.groups::<I, R>(isa, 6, [&four, &two]);
                    let seven = powers.groups::<I, R>(isa, 7, [&four, &three]);
                    let eight = powers.groups::<I, R>(isa, 8, [&four, &four]);
                    let all = black_box([&eight, &seven, &six, &five, &four, &three, &two, &one]);
                    for _ in 0..(groups - 1) / 8 {
                        h = step::<I, R, N, 8>(isa, h, &mut rest, all);
                    }
                }
            }
        }
    }

    let h = multiply::<I, R, N>(isa, h, &Power::new::<I, R>(isa, powers.lanes));
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
///
/// 1. The powers are taken from memory each time: the fence keeps the compiler from taking them out of
///    the loop, where they are more than there are registers; see also `Isa::multiply`.
/// 2. Many products go to two sums by turns, since one sum waits for each multiplication: with one, a KiB
///    takes 90 cycles on Zen 5 instead of 74 (IFMA, eight groups, loops written by hand).
/// 3. The last group, which is not multiplied, comes in the middle, where nothing waits for it.
#[inline(always)]
pub(super) fn step<I: Isa, R: Radix<I, N>, const N: usize, const K: usize>(
    isa: I,
    h: [I::V; N],
    rest: &mut &[[u8; 16]],
    powers: [&Zeroizing<Power<I::Factor, N>>; K],
) -> [I::V; N] {
    compiler_fence(Ordering::SeqCst);
    let (groups, after) = rest.split_at(K * I::LANES);
    *rest = after;
    let mut sums = [R::sum(isa, [isa.splat(0); N]); 2];
    for (i, (group, power)) in groups.chunks_exact(I::LANES).zip(&powers[1..]).enumerate() {
        let group = message::<I, R, N>(isa, group);
        if K > 2 && i % 2 == 0 {
            sums[1] = R::add_product(isa, sums[1], group, &power.vectors(isa));
        } else {
            sums[0] = R::add_product(isa, sums[0], group, &power.vectors(isa));
        }
        if i == K / 2 {
            let last = message::<I, R, N>(isa, &groups[(K - 1) * I::LANES..]);
            sums[0] = R::join(isa, sums[0], R::sum(isa, last));
        }
    }
    let [mut sum, other] = sums;
    if K <= 2 {
        let last = message::<I, R, N>(isa, &groups[(K - 1) * I::LANES..]);
        sum = R::join(isa, sum, R::sum(isa, last));
    }
    // Last, since all the rest can be computed while h is not there yet.
    sum = R::add_product(isa, sum, forget(isa, h), &powers[0].vectors(isa));
    R::carry(isa, if K > 2 { R::join(isa, sum, other) } else { sum })
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

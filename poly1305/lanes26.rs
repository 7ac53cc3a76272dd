//! Vector body in radix 2^26: one block per lane, one limb per vector.
//!
//! ```text
//!          lane 0        lane 1        ...
//! h[0]   | bits 0..26  | bits 0..26  |        each lane an accumulator of its own
//! h[1]   | bits 26..52 | ...
//!  ...
//! h[4]   | bits 104..  |
//!
//! for each group of L blocks:   h = h r^L + m         (L lanes)
//! at the end:                   h = sum of (h r^(L - i)) over the blocks i of the last group
//! ```
//!
//! 1. In long messages two groups share one carry: `h r^2L + m0 r^L + m1`, which needs r^2L.
//! 2. Blocks before the first whole group go through the scalar code, and the accumulator that they
//!    leave enters lane 0, so there is no tail.
//! 3. Bounds: a limb of h is below 2^26 + 2^9 after a carry, and below 2^27 + 2^9 with a block added;
//!    a limb that comes from the scalar code, of h or of a power, is below 2^26 + 2^25, 5 times that
//!    below 2^29. The products of two groups that make a limb sum to less than 2^59. Those of the top
//!    limb, none of which is times 5, to less than 2^57: the carry out of it is below 2^32, 5 times it
//!    below 2^35, and that carries less than 2^9 into the second limb.

use core::hint::black_box;

use zeroize::Zeroize;

use super::isa::{Isa, MOST_LANES};
use super::scalar::State;

/// From so many groups on, what pairs save in carries is more than r^2L costs (Zen 3: even at 16,
/// 4 % in bulk).
const PAIRED_FROM: usize = 16;

/// A number in five limbs.
pub(super) type Limbs<V> = [V; 5];

/// A power of r, and 5 times its limbs, for what wraps at 2^130.
pub(super) struct Power<V: Zeroize> {
    r: Limbs<V>,
    times_5: Limbs<V>,
}

impl<V: Copy + Zeroize> Power<V> {
    #[inline(always)]
    pub(super) fn new<I: Isa<V = V>>(isa: I, r: Limbs<V>) -> Self {
        let mut times_5 = r;
        for limb in &mut times_5 {
            *limb = isa.add(*limb, isa.shift_left::<2>(*limb));
        }
        Self { r, times_5 }
    }
}

impl<V: Zeroize> Drop for Power<V> {
    #[inline(always)]
    fn drop(&mut self) {
        self.r.zeroize();
        self.times_5.zeroize();
    }
}

/// Takes in whole blocks, at least `LANES` of them.
#[inline(always)]
pub(crate) fn blocks<I: Isa>(isa: I, state: &mut State, blocks: &[[u8; 16]]) {
    const { assert!(I::LANES <= MOST_LANES) };
    let (before, blocks) = blocks.split_at(blocks.len() % I::LANES);
    state.blocks(before);

    // Powers r, r^2, ... r^L, in that order.
    let mut powers = state.powers_26::<MOST_LANES>();
    let each_lane = |limb: usize| {
        let powers = &powers;
        isa.lanes(move |lane| u64::from(powers[I::LANES - 1 - I::ORDER[lane]][limb]))
    };
    let last =
        Power::new(isa, [each_lane(0), each_lane(1), each_lane(2), each_lane(3), each_lane(4)]);
    let group = Power::new(isa, powers[I::LANES - 1].map(|limb| isa.splat(u64::from(limb))));
    powers.as_flattened_mut().zeroize();

    let mut h =
        state.limbs_26().map(|limb| isa.lanes(|lane| if lane == 0 { u64::from(limb) } else { 0 }));
    let mut groups = blocks.chunks_exact(I::LANES);
    h = add(isa, h, message(isa, groups.next().expect("at least one group")));
    let paired = if groups.len() < PAIRED_FROM { 0 } else { groups.len() & !1 };
    for _ in paired..groups.len() {
        let group = black_box(&group);
        h = carry(isa, multiply(isa, forget(isa, h), group));
        h = add(isa, h, message(isa, groups.next().expect("counted")));
    }
    if paired > 0 {
        let two_groups = Power::new(isa, carry(isa, multiply(isa, group.r, &group)));
        while let (Some(first), Some(second)) = (groups.next(), groups.next()) {
            // Powers are taken from memory, as operands, each time; see `Isa::multiply`.
            let (group, two_groups) = black_box((&group, &two_groups));
            let products = multiply(isa, forget(isa, h), two_groups);
            let products = add(isa, products, multiply(isa, message(isa, first), group));
            h = add(isa, carry(isa, products), message(isa, second));
        }
    }
    let h = carry(isa, multiply(isa, forget(isa, h), &last));
    let sum = |limb: usize| isa.store(h[limb]).iter().sum();
    state.set_limbs_26([sum(0), sum(1), sum(2), sum(3), sum(4)]);
}

/// The limbs of a group of blocks, each with its bit 128.
#[inline(always)]
fn message<I: Isa>(isa: I, group: &[[u8; 16]]) -> Limbs<I::V> {
    let (low, high) = isa.load(group);
    split(isa, low, high, isa.splat(TOP))
}

/// Bit 128 of a block, in its limb.
pub(super) const TOP: u64 = 1 << 24;

/// The limbs of blocks whose low and high halves are given, and what is above them.
#[inline(always)]
pub(super) fn split<I: Isa>(isa: I, low: I::V, high: I::V, top: I::V) -> Limbs<I::V> {
    let mask = isa.splat((1 << 26) - 1);
    let middle = isa.or(isa.shift_right::<52>(low), isa.shift_left::<12>(high));
    [
        isa.and(low, mask),
        isa.and(isa.shift_right::<26>(low), mask),
        isa.and(middle, mask),
        isa.and(isa.shift_right::<14>(high), mask),
        isa.or(isa.shift_right::<40>(high), top),
    ]
}

#[inline(always)]
pub(super) fn add<I: Isa>(isa: I, mut a: Limbs<I::V>, b: Limbs<I::V>) -> Limbs<I::V> {
    for (a, b) in a.iter_mut().zip(b) {
        *a = isa.add(*a, b);
    }
    a
}

#[inline(always)]
pub(super) fn forget<I: Isa>(isa: I, mut a: Limbs<I::V>) -> Limbs<I::V> {
    for limb in &mut a {
        *limb = isa.forget(*limb);
    }
    a
}

/// The product limb by limb: limb k is the sum of `a[i] b[k - i]`, and of `5 a[i] b[k + 5 - i]`,
/// which wraps.
#[inline(always)]
pub(super) fn multiply<I: Isa>(isa: I, a: Limbs<I::V>, b: &Power<I::V>) -> Limbs<I::V> {
    let (r, s) = (&b.r, &b.times_5);
    let [mut d0, mut d1, mut d2, mut d3, mut d4] = [
        isa.multiply(a[0], r[0]),
        isa.multiply(a[0], r[1]),
        isa.multiply(a[0], r[2]),
        isa.multiply(a[0], r[3]),
        isa.multiply(a[0], r[4]),
    ];
    macro_rules! row {
        ($a:expr, $f0:expr, $f1:expr, $f2:expr, $f3:expr, $f4:expr) => {
            d0 = isa.add(d0, isa.multiply($a, $f0));
            d1 = isa.add(d1, isa.multiply($a, $f1));
            d2 = isa.add(d2, isa.multiply($a, $f2));
            d3 = isa.add(d3, isa.multiply($a, $f3));
            d4 = isa.add(d4, isa.multiply($a, $f4));
        };
    }
    row!(a[1], s[4], r[0], r[1], r[2], r[3]);
    row!(a[2], s[3], s[4], r[0], r[1], r[2]);
    row!(a[3], s[2], s[3], s[4], r[0], r[1]);
    row!(a[4], s[1], s[2], s[3], s[4], r[0]);
    [d0, d1, d2, d3, d4]
}

/// Brings limbs below 2^59 back to 26 bits, but for the second and the top one, which keep an excess
/// below 2^9: two chains side by side, from limb 0 and from limb 3, so that no carry waits for more
/// than two others.
#[inline(always)]
pub(super) fn carry<I: Isa>(isa: I, [d0, d1, d2, d3, d4]: Limbs<I::V>) -> Limbs<I::V> {
    let mask = isa.splat((1 << 26) - 1);
    let over = |v| isa.shift_right::<26>(v);

    let (d0, d1) = (isa.and(d0, mask), isa.add(d1, over(d0)));
    let (d3, d4) = (isa.and(d3, mask), isa.add(d4, over(d3)));

    let (d1, d2) = (isa.and(d1, mask), isa.add(d2, over(d1)));
    let top = over(d4);
    let (d4, d0) = (isa.and(d4, mask), isa.add(d0, isa.add(top, isa.shift_left::<2>(top))));

    let (d2, d3) = (isa.and(d2, mask), isa.add(d3, over(d2)));
    let (d0, d1) = (isa.and(d0, mask), isa.add(d1, over(d0)));

    let (d3, d4) = (isa.and(d3, mask), isa.add(d4, over(d3)));
    [d0, d1, d2, d3, d4]
}

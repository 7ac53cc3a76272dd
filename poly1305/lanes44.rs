//! Radix 2^44: three limbs, for vectors that multiply 52 by 52 bits.
//!
//! ```text
//! h[0]   bits 0..44       h[1]   bits 44..88      h[2]   bits 88..130 and above
//!
//! limb k of a product:  the sum of a[i] b[k - i], and of 20 a[i] b[k + 3 - i], which wraps
//! ```
//!
//! 1. A product comes in two halves, of 52 bits each: the low one belongs to limb k, the high one,
//!    times 2^8, to limb k + 1. They are summed apart and meet in the carry.
//! 2. Limb 3 would stand for 2^132 = 4 * 2^130, so what wraps is times 20; what the top limb has
//!    from bit 130 on is times 5.
//!
//! Bounds, which the tests prove by running this code on intervals: a carried limb is below
//! 2^44 + 2^18, with a block or the scalar accumulator added below 2^45 + 2^18; 20 times a power's
//! is below 2^49, so each operand has fewer than 52 bits. The halves of eight groups, and what
//! of them wraps, sum to less than 2^57.

use super::isa::Multiply52;
use super::lanes::{Power, Radix};

/// The radix.
pub(super) struct Radix44;

impl<I: Multiply52> Radix<I, 3> for Radix44 {
    /// Low and high halves.
    type Sum = [[I::V; 3]; 2];

    /// On Zen 5 (EPYC 9005): eight groups to a carry are even at 7 KiB, where each further power has cost
    /// 20 cycles, and gain 10 % in bulk. Two and four were even at these on a core of the Granite Rapids
    /// class, and change little on Zen 5.
    const SHARED_FROM: [usize; 3] = [4, 10, 56];

    const TOP: u64 = 1 << 40;

    #[inline(always)]
    fn split(isa: I, low: I::V, high: I::V, top: I::V) -> [I::V; 3] {
        let mask = isa.splat((1 << 44) - 1);
        let middle = isa.or(isa.shift_right::<44>(low), isa.shift_left::<20>(high));
        [isa.and(low, mask), isa.and(middle, mask), isa.or(isa.shift_right::<24>(high), top)]
    }

    #[inline(always)]
    fn wrap(isa: I, limb: I::V) -> I::V {
        isa.shift_left::<2>(isa.add(limb, isa.forget(isa.shift_left::<2>(limb))))
    }

    #[inline(always)]
    fn sum(isa: I, number: [I::V; 3]) -> Self::Sum {
        [number, [isa.splat(0); 3]]
    }

    #[inline(always)]
    fn join(isa: I, [a, b]: Self::Sum, [c, d]: Self::Sum) -> Self::Sum {
        let add = |a: [I::V; 3], b: [I::V; 3]| {
            [isa.add(a[0], b[0]), isa.add(a[1], b[1]), isa.add(a[2], b[2])]
        };
        [add(a, c), add(b, d)]
    }

    #[inline(always)]
    fn add_product(isa: I, sum: Self::Sum, a: [I::V; 3], power: &Power<I::V, 3>) -> Self::Sum {
        let (r, s) = (&power.limbs, &power.wrapped);
        let [[mut l0, mut l1, mut l2], [mut h0, mut h1, mut h2]] = sum;
        macro_rules! row {
            ($a:expr, $f0:expr, $f1:expr, $f2:expr) => {
                l0 = isa.add_low(l0, $a, $f0);
                l1 = isa.add_low(l1, $a, $f1);
                l2 = isa.add_low(l2, $a, $f2);
                h0 = isa.add_high(h0, $a, $f0);
                h1 = isa.add_high(h1, $a, $f1);
                h2 = isa.add_high(h2, $a, $f2);
            };
        }
        row!(a[0], r[0], r[1], r[2]);
        row!(a[1], s[2], r[0], r[1]);
        row!(a[2], s[1], s[2], r[0]);
        [[l0, l1, l2], [h0, h1, h2]]
    }

    /// All limbs at once: none waits for the carry of another, and each keeps an excess.
    #[inline(always)]
    fn carry(isa: I, [[d0, d1, d2], [h0, h1, h2]]: Self::Sum) -> [I::V; 3] {
        let mask = isa.splat((1 << 44) - 1);
        // A product with 5 to the compiler, unless it forgets: two multiplications, for one addition.
        let five = |v| isa.add(v, isa.forget(isa.shift_left::<2>(v)));

        // h2 starts at bit 140, ten above 130.
        let d0 = isa.add(d0, five(isa.shift_left::<10>(h2)));
        let d1 = isa.add(d1, isa.shift_left::<8>(h0));
        let d2 = isa.add(d2, isa.shift_left::<8>(h1));
        [
            isa.add(isa.and(d0, mask), five(isa.shift_right::<42>(d2))),
            isa.add(isa.and(d1, mask), isa.shift_right::<44>(d0)),
            isa.add(isa.and(d2, isa.splat((1 << 42) - 1)), isa.shift_right::<44>(d1)),
        ]
    }
}

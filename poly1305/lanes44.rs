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
//! 2^44 + 2^11, with a block or the scalar accumulator added below 2^45 + 2^11; 20 times a power's
//! is below 2^49, so each operand has fewer than 52 bits. The low halves of four groups sum to less
//! than 2^56, the high ones, times 2^8, to less than 2^54.

use super::isa::Multiply52;
use super::lanes::{Power, Radix};

/// The radix.
pub(super) struct Radix44;

impl<I: Multiply52> Radix<I, 3> for Radix44 {
    /// Low and high halves.
    type Sum = [[I::V; 3]; 2];

    /// On a core of the Granite Rapids class: r^16 from 32 blocks on, r^24 and r^32 from about 80.
    const TWO_FROM: usize = 4;
    const FOUR_FROM: usize = 10;

    const TOP: u64 = 1 << 40;

    #[inline(always)]
    fn split(isa: I, low: I::V, high: I::V, top: I::V) -> [I::V; 3] {
        let mask = isa.splat((1 << 44) - 1);
        let middle = isa.or(isa.shift_right::<44>(low), isa.shift_left::<20>(high));
        [isa.and(low, mask), isa.and(middle, mask), isa.or(isa.shift_right::<24>(high), top)]
    }

    #[inline(always)]
    fn wrap(isa: I, limb: I::V) -> I::V {
        isa.shift_left::<2>(isa.add(limb, isa.shift_left::<2>(limb)))
    }

    #[inline(always)]
    fn sum(isa: I, number: [I::V; 3]) -> Self::Sum {
        [number, [isa.splat(0); 3]]
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

    /// The second limb keeps an excess.
    #[inline(always)]
    fn carry(isa: I, [[d0, d1, d2], [h0, h1, h2]]: Self::Sum) -> [I::V; 3] {
        let mask = isa.splat((1 << 44) - 1);

        let d1 = isa.add(d1, isa.add(isa.shift_left::<8>(h0), isa.shift_right::<44>(d0)));
        let d2 = isa.add(d2, isa.add(isa.shift_left::<8>(h1), isa.shift_right::<44>(d1)));
        // From bit 130 on: what d2 has above its 42 bits, and h2, which starts at bit 140.
        let wrapped = isa.add(isa.shift_left::<10>(h2), isa.shift_right::<42>(d2));
        let wrapped = isa.add(wrapped, isa.shift_left::<2>(wrapped));
        let d0 = isa.add(isa.and(d0, mask), wrapped);
        let d1 = isa.add(isa.and(d1, mask), isa.shift_right::<44>(d0));
        [isa.and(d0, mask), d1, isa.and(d2, isa.splat((1 << 42) - 1))]
    }
}

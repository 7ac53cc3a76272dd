//! Radix 2^26: five limbs, for vectors that multiply 32 by 32 bits.
//!
//! ```text
//! h[0]   bits 0..26       h[1]   bits 26..52      ...      h[4]   bits 104..
//!
//! limb k of a product:  the sum of a[i] b[k - i], and of 5 a[i] b[k + 5 - i], which wraps
//! ```
//!
//! Bounds, which the tests prove by running this code on intervals: a carried limb is below
//! 2^26 + 2^9, and below 2^27 + 2^9 with a block added; the top one of the scalar accumulator, which is
//! taken to reach 7 at 2^128, below 2^27 + 2^25 with a block. One of a power is below 2^26 + 2^9, and 5
//! times that below 2^29. The products of two groups that make a limb sum to less than 2^58: the carry
//! out of the top one is below 2^32, 5 times it below 2^35, and that carries less than 2^9 into the
//! second limb.

use super::isa::Isa;
use super::lanes::{Power, Radix};

/// The radix.
pub(super) struct Radix26;

impl<I: Isa> Radix<I, 5> for Radix26 {
    type Sum = [I::V; 5];

    /// On Zen 3 two groups are even at 16, and gain 4 % in bulk. Four products would reach 2^60, but the
    /// vectors that hold powers are too many for it to gain.
    const SHARED_FROM: [usize; 3] = [17, usize::MAX, usize::MAX];

    const TOP: u64 = 1 << 24;

    #[inline(always)]
    fn split(isa: I, low: I::V, high: I::V, top: I::V) -> [I::V; 5] {
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
    fn wrap(isa: I, limb: I::V) -> I::V {
        isa.add(limb, isa.shift_left::<2>(limb))
    }

    #[inline(always)]
    fn sum(_isa: I, number: [I::V; 5]) -> Self::Sum {
        number
    }

    #[inline(always)]
    fn join(isa: I, a: Self::Sum, c: Self::Sum) -> Self::Sum {
        core::array::from_fn(|i| isa.add(a[i], c[i]))
    }

    #[inline(always)]
    fn add_product(isa: I, sum: Self::Sum, a: [I::V; 5], power: &Power<I::V, 5>) -> Self::Sum {
        let (r, s) = (&power.limbs, &power.wrapped);
        let [mut d0, mut d1, mut d2, mut d3, mut d4] = sum;
        macro_rules! row {
            ($a:expr, $f0:expr, $f1:expr, $f2:expr, $f3:expr, $f4:expr) => {
                d0 = isa.add(d0, isa.multiply($a, $f0));
                d1 = isa.add(d1, isa.multiply($a, $f1));
                d2 = isa.add(d2, isa.multiply($a, $f2));
                d3 = isa.add(d3, isa.multiply($a, $f3));
                d4 = isa.add(d4, isa.multiply($a, $f4));
            };
        }
        row!(a[0], r[0], r[1], r[2], r[3], r[4]);
        row!(a[1], s[4], r[0], r[1], r[2], r[3]);
        row!(a[2], s[3], s[4], r[0], r[1], r[2]);
        row!(a[3], s[2], s[3], s[4], r[0], r[1]);
        row!(a[4], s[1], s[2], s[3], s[4], r[0]);
        [d0, d1, d2, d3, d4]
    }

    /// Two chains side by side, from limb 0 and from limb 3, so that no carry waits for more than
    /// two others. The second and the top limb keep an excess.
    #[inline(always)]
    fn carry(isa: I, [d0, d1, d2, d3, d4]: Self::Sum) -> [I::V; 5] {
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
}

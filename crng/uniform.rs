//! Numbers below a bound and in a range, exactly uniform.
//!
//! Multiply and reject (Lemire, "Fast Random Integer Generation in an Interval", 2019): of a random
//! word w of W bits, the high half of `w * bound` is the number, and w is drawn again where the low
//! half is below `2^W mod bound`; each number is then left with equally many words. How often w is
//! drawn again does not depend on the number.
//!
//! 8- to 32-bit types draw 32 bits, 64-bit types and sizes 64; 128 bits, of which no wider product
//! exists, are masked to the bound's length and drawn again where they are above it.

use core::ops::{Bound, RangeBounds};

/// A word that multiplies into two.
trait Word: Copy + PartialOrd {
    /// The high and the low half of the product.
    fn multiply(self, other: Self) -> (Self, Self);

    /// `2^BITS mod self`.
    fn rest_of_all(self) -> Self;
}

macro_rules! words {
    ($($word:ty, $wide:ty;)*) => {$(
        impl Word for $word {
            #[inline(always)]
            fn multiply(self, other: Self) -> (Self, Self) {
                let product = <$wide>::from(self) * <$wide>::from(other);
                ((product >> Self::BITS) as Self, product as Self)
            }

            #[inline(always)]
            fn rest_of_all(self) -> Self {
                self.wrapping_neg() % self
            }
        }
    )*};
}

words! {
    u32, u64;
    u64, u128;
}

/// A number below `bound`, which is not 0.
#[inline]
fn multiply_and_reject<W: Word, E>(
    mut draw: impl FnMut() -> Result<W, E>,
    bound: W,
) -> Result<W, E> {
    let (mut number, mut low) = draw()?.multiply(bound);
    // 2^W mod bound is below the bound, so most words are accepted without the division.
    if low < bound {
        let rest = bound.rest_of_all();
        while low < rest {
            (number, low) = draw()?.multiply(bound);
        }
    }
    Ok(number)
}

fn draw_32<W: Words>(words: &mut W) -> Result<u32, W::Error> {
    words.bytes().map(u32::from_le_bytes)
}

fn draw_64<W: Words>(words: &mut W) -> Result<u64, W::Error> {
    words.bytes().map(u64::from_le_bytes)
}

fn draw_128<W: Words>(words: &mut W) -> Result<u128, W::Error> {
    words.bytes().map(u128::from_le_bytes)
}

pub(super) fn below<W: Words>(words: &mut W, bound: u64) -> Result<u64, W::Error> {
    assert!(bound > 0, "there is no number below 0");
    multiply_and_reject(|| draw_64(words), bound)
}

pub(super) fn shuffle<T, W: Words>(words: &mut W, slice: &mut [T]) -> Result<(), W::Error> {
    for i in (1..slice.len()).rev() {
        let j = below(words, i as u64 + 1)? as usize;
        slice.swap(i, j);
    }
    Ok(())
}

pub(super) fn range<T: Uniform, W: Words>(
    words: &mut W,
    range: impl RangeBounds<T>,
) -> Result<T, W::Error> {
    let empty = "the range is empty";
    let first = match range.start_bound() {
        Bound::Included(first) => *first,
        Bound::Excluded(before) => before.next().expect(empty),
        Bound::Unbounded => T::MIN,
    };
    let last = match range.end_bound() {
        Bound::Included(last) => *last,
        Bound::Excluded(end) => end.previous().expect(empty),
        Bound::Unbounded => T::MAX,
    };
    assert!(first <= last, "{empty}");
    T::draw(words, first, last)
}

pub(super) use self::sealed::Words;

/// What no other crate can name.
mod sealed {
    /// Where the random words come from.
    pub trait Words {
        /// Why there may be none.
        type Error;

        fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Self::Error>;
    }

    pub trait Sealed: Copy + PartialOrd {
        const MIN: Self;
        const MAX: Self;
        fn next(self) -> Option<Self>;
        fn previous(self) -> Option<Self>;
        fn draw<W: Words>(words: &mut W, first: Self, last: Self) -> Result<Self, W::Error>;
    }
}

/// The primitive integers. It can't be implemented outside this crate.
///
/// # Examples
///
/// ```
/// use keyspring::crng::{SeededCrng, Uniform};
///
/// fn roll<T: Uniform>(rng: &mut SeededCrng, most: T) -> T {
///     rng.range(..=most)
/// }
///
/// assert!(roll(&mut SeededCrng::from_seed([7; 32]), 6_u8) <= 6);
/// ```
pub trait Uniform: sealed::Sealed {}

/// For each width: the integers, and the number that is to be added to the first of the range, as a
/// function of the distance between the first and the last.
macro_rules! uniform {
    ($($wide:ty: $($int:ty)*, $offset:expr;)*) => {$($(
        impl Uniform for $int {}

        impl sealed::Sealed for $int {
            const MIN: Self = <$int>::MIN;
            const MAX: Self = <$int>::MAX;

            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }

            #[inline]
            fn draw<W: Words>(words: &mut W, first: Self, last: Self) -> Result<Self, W::Error> {
                // Two's complement: the distance is right for signed numbers too, once the bits
                // above the type's own are cut off.
                let distance = (last as $wide).wrapping_sub(first as $wide);
                let offset: $wide = $offset(words, distance)?;
                Ok((first as $wide).wrapping_add(offset) as Self)
            }
        }
    )*)*};
}

uniform! {
    u32: u8 i8 u16 i16 u32 i32, up_to_32;
    u64: u64 i64 usize isize, up_to_64;
    u128: u128 i128, up_to_128;
}

/// A number up to `last`, which is itself a possible one.
fn up_to_32<W: Words>(words: &mut W, last: u32) -> Result<u32, W::Error> {
    match last.checked_add(1) {
        Some(bound) => multiply_and_reject(|| draw_32(words), bound),
        None => draw_32(words),
    }
}

fn up_to_64<W: Words>(words: &mut W, last: u64) -> Result<u64, W::Error> {
    match last.checked_add(1) {
        Some(bound) => multiply_and_reject(|| draw_64(words), bound),
        None => draw_64(words),
    }
}

fn up_to_128<W: Words>(words: &mut W, last: u128) -> Result<u128, W::Error> {
    let mask = u128::MAX.checked_shr(last.leading_zeros()).unwrap_or(0);
    loop {
        let number = draw_128(words)? & mask;
        if number <= last {
            return Ok(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use super::*;
    use crate::crng::SeededCrng;

    words! {
        u8, u16;
    }

    /// How often each number comes out when every 8-bit word is drawn once first.
    fn counts(
        bound: u8,
        choose: impl Fn(&mut dyn FnMut() -> Option<u8>, u8) -> Option<u8>,
    ) -> Vec<u32> {
        let mut counts = std::vec![0; usize::from(bound)];
        for word in 0..=u8::MAX {
            let mut first = Some(word);
            if let Some(number) = choose(&mut || first.take(), bound) {
                counts[usize::from(number)] += 1;
            }
        }
        counts
    }

    /// The generic code on 8-bit words, as long as it draws once: a second draw ends it.
    fn exact(draw: &mut dyn FnMut() -> Option<u8>, bound: u8) -> Option<u8> {
        multiply_and_reject(|| draw().ok_or(()), bound).ok()
    }

    /// Without the rejection.
    fn biased(draw: &mut dyn FnMut() -> Option<u8>, bound: u8) -> Option<u8> {
        draw().map(|word| word.multiply(bound).0)
    }

    fn is_uniform(counts: &[u32]) -> bool {
        counts.iter().all(|count| *count == counts[0]) && counts[0] > 0
    }

    #[test]
    fn every_number_is_left_with_equally_many_words() {
        for bound in 1..=u8::MAX {
            let counts = counts(bound, exact);
            assert!(is_uniform(&counts), "bound {bound}: {counts:?}");
            assert_eq!(counts[0], 256 / u32::from(bound), "bound {bound}");
        }
    }

    #[test]
    fn the_uniformity_test_refuses_a_biased_choice() {
        for bound in 1..=u8::MAX {
            let fair = 256 % u32::from(bound) == 0;
            assert_eq!(is_uniform(&counts(bound, biased)), fair, "bound {bound}");
        }
    }

    #[test]
    fn ranges_reach_both_ends_and_nothing_beyond() {
        let mut rng = SeededCrng::from_seed([1; 32]);
        let mut seen = BTreeMap::new();
        for _ in 0..1000 {
            *seen.entry(rng.range(-3i8..=3)).or_insert(0) += 1;
        }
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), (-3..=3).collect::<Vec<_>>());
    }

    #[test]
    fn full_and_single_ranges_work_for_every_type() {
        let mut rng = SeededCrng::from_seed([2; 32]);
        macro_rules! check {
            ($($int:ty)*) => {$(
                let all: Vec<$int> = (0..64).map(|_| rng.range(..)).collect();
                assert!(all.iter().any(|x| *x != all[0]), stringify!($int));
                let halves = <$int>::MAX / 2;
                assert!(all.iter().any(|x| *x > halves), stringify!($int));
                assert!(all.iter().any(|x| *x < halves), stringify!($int));
                assert_eq!(rng.range(<$int>::MIN..=<$int>::MIN), <$int>::MIN);
                assert_eq!(rng.range(<$int>::MAX..), <$int>::MAX);
                assert_eq!(rng.range((Bound::Excluded(4), Bound::Excluded(6))), 5 as $int);
            )*};
        }
        check!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);
    }

    #[test]
    #[should_panic(expected = "the range is empty")]
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    fn an_empty_range_panics() {
        SeededCrng::from_seed([0; 32]).range(5..5u32);
    }

    #[test]
    #[should_panic(expected = "the range is empty")]
    fn a_range_below_the_smallest_number_panics() {
        SeededCrng::from_seed([0; 32]).range(..u8::MIN);
    }

    #[test]
    #[should_panic(expected = "no number below 0")]
    fn below_zero_panics() {
        SeededCrng::from_seed([0; 32]).below(0);
    }

    #[test]
    fn shuffle_gives_every_order_alike() {
        let mut rng = SeededCrng::from_seed([3; 32]);
        let mut orders = BTreeMap::new();
        for _ in 0..24_000 {
            let mut slice = [0, 1, 2, 3];
            rng.shuffle(&mut slice);
            *orders.entry(slice).or_insert(0u32) += 1;
        }
        assert_eq!(orders.len(), 24);
        // The seed is fixed, so this is one computation, not a chance: 1000 each, 6 sigma is 186.
        assert!(orders.values().all(|count| count.abs_diff(1000) < 186), "{orders:?}");
    }
}

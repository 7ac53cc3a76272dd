//! The powers of r that the vector bodies multiply by.
//!
//! ```text
//! lanes      r^L ... r^2, r^1    one to a lane, where the lanes meet
//! groups[0]  r^L                 for each group
//! groups[1]  r^2L                for two groups at a time
//! groups[2]  r^3L                for four
//! groups[3]  r^4L
//! ```
//!
//! They are computed as far as a message is long, and then kept with the accumulator: what comes
//! later, in the next section or the next call, finds them there, and so pays even where it is
//! short.

use zeroize::Zeroize;

use super::isa::{Isa, MOST_LANES};
use super::lanes::{Power, Radix, multiply, numbers, store};
use super::scalar::State;

/// The limbs of the radix that has most.
const MOST_LIMBS: usize = 5;

/// Powers in the radix and the order of lanes of one row. Wiped on drop.
#[derive(Clone)]
pub(crate) struct Powers {
    /// By limb, then by lane.
    pub(super) lanes: [[u64; MOST_LANES]; MOST_LIMBS],
    pub(super) groups: [[u64; MOST_LIMBS]; 4],
    /// How many of `groups` there are: 1, 2 or 4.
    pub(super) known: usize,
}

impl Powers {
    /// The powers for so many groups, of which those are computed that are not there yet.
    #[inline(always)]
    pub(super) fn ready<'a, I: Isa, R: Radix<I, N>, const N: usize>(
        isa: I,
        powers: &'a mut Option<Self>,
        state: &State,
        groups: usize,
    ) -> &'a Self {
        let powers = match powers {
            Some(powers) => powers,
            None => Self::from_scalar::<I, R, N>(isa, powers, state.powers()),
        };
        if powers.known < 2 && groups >= R::TWO_FROM {
            powers.double::<I, R, N>(isa);
        }
        if powers.known < 4 && groups >= R::FOUR_FROM {
            powers.double::<I, R, N>(isa);
        }
        powers
    }

    const NONE: Self =
        Self { lanes: [[0; MOST_LANES]; MOST_LIMBS], groups: [[0; MOST_LIMBS]; 4], known: 1 };

    /// Those of the lanes, from r, r^2, r^3, r^4: what is above them, by r^4.
    #[inline(always)]
    pub(super) fn from_scalar<I: Isa, R: Radix<I, N>, const N: usize>(
        isa: I,
        powers: &mut Option<Self>,
        mut r: [[u64; N]; 4],
    ) -> &mut Self {
        const { assert!(I::LANES <= MOST_LANES && I::ORDER[0] == 0 && N <= MOST_LIMBS) };
        // Lane by lane: one less than the exponent.
        let exponent = |lane: usize| I::LANES - 1 - I::ORDER[lane];
        let mut lanes = numbers(isa, |limb, lane| r[exponent(lane) % 4][limb]);
        if I::LANES > 4 {
            let further = numbers(isa, |limb, lane| match exponent(lane) {
                0..4 => u64::from(limb == 0),
                _ => r[3][limb],
            });
            lanes = multiply::<I, R, N>(isa, lanes, &Power::new::<I, R>(isa, further));
        }
        // Filled where they stay: to move them costs as much as a block.
        let powers = powers.insert(Self::NONE);
        for (i, stored) in store(isa, lanes).into_iter().enumerate() {
            powers.lanes[i] = stored;
            powers.groups[0][i] = stored[0];
        }
        r.as_flattened_mut().zeroize();
        powers
    }

    /// From r^L to r^2L, or from those two to r^3L and r^4L.
    #[inline(always)]
    pub(super) fn double<I: Isa, R: Radix<I, N>, const N: usize>(&mut self, isa: I) {
        let known = self.known;
        let lanes = numbers(isa, |limb, lane| self.groups[lane % known][limb]);
        let by = numbers(isa, |limb, _| self.groups[known - 1][limb]);
        let lanes = multiply::<I, R, N>(isa, lanes, &Power::new::<I, R>(isa, by));
        for (limb, lanes) in store(isa, lanes).into_iter().enumerate() {
            for (group, lane) in self.groups[known..2 * known].iter_mut().zip(lanes) {
                group[limb] = lane;
            }
        }
        self.known = 2 * known;
    }
}

#[cfg(test)]
impl Powers {
    /// Powers that all have the same limbs.
    pub(super) fn filled<const N: usize>(limbs: [u64; N], known: usize) -> Self {
        let mut powers = Self::NONE;
        powers.known = known;
        for (i, limb) in limbs.into_iter().enumerate() {
            powers.lanes[i] = [limb; MOST_LANES];
            for group in &mut powers.groups {
                group[i] = limb;
            }
        }
        powers
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.lanes.as_flattened_mut().zeroize();
        self.groups.as_flattened_mut().zeroize();
    }
}

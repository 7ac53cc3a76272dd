//! The powers of r that the vector bodies multiply by.
//!
//! ```text
//! lanes      r^L ... r^2, r^1    one to a lane, where the lanes meet
//! groups[0]  r^L                 for each group
//! groups[1]  r^2L                for two groups at a time
//! groups[2]  r^3L                for four
//! groups[3]  r^4L
//! groups[4]  r^5L                for eight
//! ...
//! ```
//!
//! They are computed as far as a message is long. Where more may come after it, in the next section or
//! the next call, they are then kept with the accumulator: what comes later finds them there, and so
//! pays even where it is short.

use zeroize::{Zeroize, Zeroizing};

use super::isa::{Isa, MOST_LANES};
use super::lanes::{Power, Radix, multiply, numbers, spread, store};
use super::scalar::State;

/// The limbs of the radix that has most.
const MOST_LIMBS: usize = 5;

/// The groups that share a carry, at most.
const MOST_GROUPS: usize = 8;

/// Powers in the radix and the order of lanes of one row. Wiped on drop.
#[derive(Clone)]
pub(crate) struct Powers {
    /// By limb, then by lane.
    lanes: [[u64; MOST_LANES]; MOST_LIMBS],
    groups: [[u64; MOST_LIMBS]; MOST_GROUPS],
    /// How many of `groups` there are.
    known: usize,
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.lanes.as_flattened_mut().zeroize();
        self.groups[..self.known].as_flattened_mut().zeroize();
    }
}

/// Where powers are kept; `None` for a message that no other bytes will follow.
pub(crate) type Keep<'a> = Option<&'a mut Option<Powers>>;

/// The powers of the lanes, and those of groups as they are wanted.
pub(super) struct Ready<'a, V, const N: usize> {
    pub(super) lanes: [V; N],
    kept: Option<&'a mut Powers>,
}

/// Those that are kept, or as many as every message needs, computed from r.
#[inline(always)]
pub(super) fn ready<'a, I: Isa, R: Radix<I, N>, const N: usize>(
    isa: I,
    keep: Keep<'a>,
    state: &State,
) -> Ready<'a, I::V, N> {
    const { assert!(I::LANES <= MOST_LANES && I::ORDER[0] == 0 && N <= MOST_LIMBS) };
    match keep {
        Some(Some(kept)) => {
            let lanes = numbers(isa, |limb, lane| kept.lanes[limb][lane]);
            Ready { lanes, kept: Some(kept) }
        }
        Some(none) => {
            let lanes = of_lanes::<I, R, N>(isa, state);
            let kept = none.insert(Powers::NONE);
            for (kept, stored) in kept.lanes.iter_mut().zip(store(isa, lanes)) {
                *kept = stored;
            }
            Ready { lanes, kept: Some(kept) }
        }
        None => Ready { lanes: of_lanes::<I, R, N>(isa, state), kept: None },
    }
}

/// r^L ... r^1, in three products at most.
#[inline(always)]
pub(super) fn of_lanes<I: Isa, R: Radix<I, N>, const N: usize>(isa: I, state: &State) -> [I::V; N] {
    // Lane by lane: one less than the exponent.
    let exponent = |lane: usize| I::LANES - 1 - I::ORDER[lane];
    let by = |power: [I::V; N]| Power::new::<I, R>(isa, power);
    let pick = |a: [I::V; N], mut b: [I::V; N], of_a: fn(usize) -> bool| {
        for (b, a) in b.iter_mut().zip(a) {
            *b = isa.pick(a, *b, |lane| of_a(exponent(lane)));
        }
        b
    };

    let r: [u64; N] = state.key();
    let r = numbers(isa, |limb, _| r[limb]);
    let squared = multiply::<I, R, N>(isa, r, &by(r));
    let mut lanes = pick(r, squared, |e| e % 2 == 0);
    if I::LANES > 2 {
        let further = multiply::<I, R, N>(isa, lanes, &by(squared));
        lanes = pick(lanes, further, |e| e % 4 < 2);
        if I::LANES > 4 {
            // The first lane has r^8 to come, so it has r^4 now.
            let further = multiply::<I, R, N>(isa, lanes, &by(spread(isa, further)));
            lanes = pick(lanes, further, |e| e < 4);
        }
    }
    lanes
}

impl<V: Copy + Zeroize, const N: usize> Ready<'_, V, N> {
    /// r^L.
    #[inline(always)]
    pub(super) fn group<I: Isa<V = V>, R: Radix<I, N>>(
        &mut self,
        isa: I,
    ) -> Zeroizing<Power<I::Factor, N>> {
        let power = match self.kept(isa, 0) {
            Some(power) => power,
            None => self.keep(isa, 0, spread(isa, self.lanes)),
        };
        Zeroizing::new(Power::new::<I, R>(isa, power).factors(isa))
    }

    /// The power for so many groups, which is the product of two that were there before. Each is asked
    /// for after the one before it.
    #[inline(always)]
    pub(super) fn groups<I: Isa<V = V>, R: Radix<I, N>>(
        &mut self,
        isa: I,
        groups: usize,
        [a, b]: [&Power<I::Factor, N>; 2],
    ) -> Zeroizing<Power<I::Factor, N>> {
        let power = match self.kept(isa, groups - 1) {
            Some(power) => power,
            None => self.keep(
                isa,
                groups - 1,
                multiply::<I, R, N>(isa, a.vectors(isa).limbs, &b.vectors(isa)),
            ),
        };
        Zeroizing::new(Power::new::<I, R>(isa, power).factors(isa))
    }

    #[inline(always)]
    fn kept<I: Isa<V = V>>(&self, isa: I, i: usize) -> Option<[V; N]> {
        let power = self.kept.as_ref().filter(|kept| i < kept.known)?.groups[i];
        Some(numbers(isa, |limb, _| power[limb]))
    }

    #[inline(always)]
    fn keep<I: Isa<V = V>>(&mut self, isa: I, i: usize, power: [V; N]) -> [V; N] {
        if let Some(kept) = &mut self.kept {
            for (kept, stored) in kept.groups[i].iter_mut().zip(store(isa, power)) {
                *kept = stored[0];
            }
            kept.known = i + 1;
        }
        power
    }
}

impl Powers {
    const NONE: Self = Self {
        lanes: [[0; MOST_LANES]; MOST_LIMBS],
        groups: [[0; MOST_LIMBS]; MOST_GROUPS],
        known: 0,
    };
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

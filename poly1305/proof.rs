//! The limb bounds of the vector bodies, proven and not sampled: the bodies run on a token whose
//! lanes are intervals, from every accumulator, power and message that can come in. A lane that
//! could overflow, or an operand with too many bits, panics.

use std::println;

use super::batch::{self, Message};
use super::isa::{Isa, MOST_LANES};
use zeroize::Zeroizing;

use super::lanes::{Power, Radix, multiply, step};
use super::lanes26::Radix26;
use super::lanes44::Radix44;
use super::models::{self, Bounds, MOST, Most, UpTo};
use super::powers::{self, Powers};
use super::scalar::State;

/// An accumulator beyond what the scalar code leaves: all limbs full, and 7 at 2^128.
fn any_state() -> State {
    State::with_accumulator(&[0xff; 16], [u64::MAX, u64::MAX, 7])
}

/// The limbs that an accumulator or a power from the scalar code can have.
fn scalar_limbs<const N: usize>() -> [u64; N] {
    any_state().limbs()
}

/// Groups that reach every path, of a radix that shares a carry among eight.
const SHARED_FROM_MOST: usize = 120;

/// Runs every path of a radix: what its carry leaves, and what its operations see, stays below these.
fn prove<I: Isa<V = UpTo, Factor = UpTo>, R: Radix<I, N>, const N: usize>(
    isa: I,
    carried: [u64; N],
    bounds: Most,
) {
    MOST.take();
    let carries = |limbs: [UpTo; N]| {
        for (i, (limb, most)) in limbs.iter().zip(carried).enumerate() {
            assert!(limb.0 <= most, "limb {i} is up to {:#x}, not {most:#x}", limb.0);
        }
    };
    // r as it is clamped, and a power that is carried: whatever two of them make is carried again.
    let state = any_state();
    let lanes = powers::of_lanes::<I, R, N>(isa, &state);
    let key = state.key::<N>();
    for (i, (lane, carried)) in lanes.iter().zip(carried).enumerate() {
        assert!(lane.0 <= carried.max(key[i]), "limb {i} of a power is up to {:#x}", lane.0);
    }
    let either = core::array::from_fn(|i| carried[i].max(key[i]));
    let power = Power::new::<I, R>(isa, either.map(UpTo));
    carries(multiply::<I, R, N>(isa, either.map(UpTo), &power));

    // A step from a carried accumulator leaves a carried one, however many groups it takes; the first
    // group has the scalar accumulator on top.
    let power = Zeroizing::new(power.factors(isa));
    let message = [[0xff; 16]; 64];
    let scalar = scalar_limbs::<N>();
    let first: [u64; N] = {
        let high = UpTo(u64::MAX);
        let block = R::split(isa, high, high, isa.splat(R::TOP));
        core::array::from_fn(|i| block[i].0 + scalar[i])
    };
    let h = core::array::from_fn(|i| UpTo(carried[i].max(first[i])));
    let [two_from, four_from, eight_from] = R::SHARED_FROM;
    carries(step::<I, R, N, 1>(isa, h, &mut &message[..], [&power; 1]));
    if two_from < usize::MAX {
        carries(step::<I, R, N, 2>(isa, h, &mut &message[..], [&power; 2]));
    }
    if four_from < usize::MAX {
        carries(step::<I, R, N, 4>(isa, h, &mut &message[..], [&power; 4]));
    }
    if eight_from < usize::MAX {
        carries(step::<I, R, N, 8>(isa, h, &mut &message[..], [&power; 8]));
    }

    // The whole body: every number of groups, every first group, powers computed, kept and found.
    let message = [[0xff; 16]; 120 * 8];
    let most = 24.max(SHARED_FROM_MOST.min(eight_from.saturating_add(9)));
    for blocks in 1..=most * I::LANES {
        models::blocks::<I, R, N>(isa, &mut any_state(), None, &message[..blocks]);
        let mut kept = None;
        models::blocks::<I, R, N>(isa, &mut any_state(), Some(&mut kept), &message[..blocks]);
        models::blocks::<I, R, N>(isa, &mut any_state(), Some(&mut kept), &message[..blocks]);
        let known = blocks % 9;
        let mut kept = Some(Powers::filled(either, known));
        models::blocks::<I, R, N>(isa, &mut any_state(), Some(&mut kept), &message[..blocks]);
    }

    // The batch, where the accumulator has a block on top when it is multiplied: from a carried one to a
    // carried one, so for every number of steps.
    let any = UpTo(u64::MAX);
    let block = R::split(isa, any, any, isa.splat(R::TOP));
    let with_block = core::array::from_fn(|i| isa.add(UpTo(carried[i]), block[i]));
    carries(multiply::<I, R, N>(isa, with_block, &Power::new::<I, R>(isa, key.map(UpTo))));
    // Packets alike and not, in one vector and in two.
    let text = [0xff; 64];
    let message =
        |i: usize| Message { key: &[0xff; 32], parts: [&text[i..], &text], last: [0xff; 16] };
    for packets in [[message(0); 2 * MOST_LANES], core::array::from_fn(message)] {
        let mut tags = [[0; 16]; 2 * MOST_LANES];
        for lanes in 1..=2 * I::LANES {
            let (packets, tags) = (&packets[..lanes], &mut tags[..lanes]);
            batch::tags::<I, R, N, 2>(isa, packets, tags);
            if lanes <= I::LANES {
                batch::tags::<I, R, N, 1>(isa, packets, tags);
            }
        }
    }

    let most = MOST.take();
    assert!(most.operand < bounds.operand, "an operand of {:#x}", most.operand);
    assert!(most.wrapped < bounds.wrapped, "a limb of a power of {:#x}", most.wrapped);
    assert!(most.sum < bounds.sum, "a sum of {:#x}", most.sum);
    println!("{} limbs, {} lanes: carried up to {carried:#x?}, {most:#x?}", N, I::LANES);
}

/// The figures are those of the table in DESIGN.md.
#[test]
fn no_lane_overflows() {
    const M26: u64 = (1 << 26) - 1;
    const SECOND: u64 = M26 + (1 << 9);
    const IN_26: Most = Most { sum: 1 << 58, operand: (1 << 27) + (1 << 25), wrapped: 1 << 29 };
    prove::<_, Radix26, 5>(Bounds::<2>, [M26, SECOND, M26, M26, SECOND], IN_26);
    prove::<_, Radix26, 5>(Bounds::<4>, [M26, SECOND, M26, M26, SECOND], IN_26);
    prove::<_, Radix26, 5>(Bounds::<8>, [M26, SECOND, M26, M26, SECOND], IN_26);
    const M44: u64 = (1 << 44) - 1;
    const IN_44: Most = Most { sum: 1 << 57, operand: (1 << 45) + (1 << 18), wrapped: 1 << 49 };
    let carried = [M44 + (1 << 18), M44 + (1 << 16), (1 << 42) + (1 << 14)];
    prove::<_, Radix44, 3>(Bounds::<4>, carried, IN_44);
    prove::<_, Radix44, 3>(Bounds::<8>, carried, IN_44);
}

/// What the proof would say of a carry that is left out.
#[test]
#[should_panic(expected = "an operand of more than 32 bits")]
fn a_missing_carry_is_no_proof() {
    let isa = Bounds::<4>;
    let limbs = scalar_limbs::<5>().map(UpTo);
    let power = Power::new::<_, Radix26>(isa, limbs);
    let sum = Radix26::add_product(isa, limbs, limbs, &power);
    Radix26::add_product(isa, sum, sum, &power);
}

#[test]
#[should_panic(expected = "an operand of more than 52 bits")]
fn a_missing_carry_is_no_proof_in_radix_44() {
    let isa = Bounds::<8>;
    let limbs = scalar_limbs::<3>().map(UpTo);
    let power = Power::new::<_, Radix44>(isa, limbs);
    let sum = Radix44::add_product(isa, Radix44::sum(isa, limbs), limbs, &power);
    Radix44::add_product(isa, Radix44::sum(isa, limbs), sum[0], &power);
}

/// So many groups to a carry would be too many.
#[test]
#[should_panic(expected = "a lane overflows")]
fn too_many_products_are_no_proof() {
    let isa = Bounds::<4>;
    let limbs = scalar_limbs::<5>().map(UpTo);
    let power = Power::new::<_, Radix26>(isa, limbs);
    let mut sum = limbs;
    for _ in 0..256 {
        sum = Radix26::add_product(isa, sum, limbs, &power);
    }
}

//! The free functions of `crng` give what they say, and never the same twice.

use core::mem::MaybeUninit;
use core::ops::ControlFlow;
use std::collections::BTreeSet;

use keyspring::crng::{self, SessionKey};
use keyspring::section::CHACHA20_BYTES;

/// A name, and a function that draws.
type Draw = (&'static str, fn() -> [u8; 32]);

#[test]
fn bytes_and_keys_are_fresh_on_every_call() {
    let draws: [Draw; 10] = [
        ("fill", || {
            let mut bytes = [0; 32];
            crng::fill(&mut bytes);
            bytes
        }),
        ("try_fill", || {
            let mut bytes = [0; 32];
            crng::try_fill(&mut bytes).expect("there is entropy");
            bytes
        }),
        ("fill_uninit", || {
            let mut place = [MaybeUninit::uninit(); 32];
            let bytes = crng::fill_uninit(&mut place);
            bytes.try_into().expect("as many as there is room for")
        }),
        ("fill_with", || {
            let mut bytes = [0; 32];
            assert_eq!(
                crng::fill_with(&mut bytes, |_| ControlFlow::Continue(())),
                ControlFlow::Continue(())
            );
            bytes
        }),
        ("bytes", crng::bytes),
        ("key", || *crng::key().as_bytes()),
        ("try_key", || *crng::try_key().expect("there is entropy").as_bytes()),
        ("session_key", || *crng::session_key().as_bytes().last_chunk().expect("32 of 256")),
        ("fill_keys", || {
            let mut keys = [const { SessionKey::zeroed() }; 3];
            crng::fill_keys(&mut keys);
            *keys[2].as_bytes()
        }),
        ("keys", || *crng::keys(3)[2].as_bytes()),
    ];
    let mut seen = BTreeSet::from([[0; 32]]);
    for (name, draw) in draws {
        for _ in 0..100 {
            let drawn = draw();
            // Of 32 random bytes, the odds that half are zero are below 2^-80.
            let zeros = drawn.iter().filter(|byte| **byte == 0).count();
            assert!(zeros < 16, "{name}: {drawn:?}");
            assert!(seen.insert(drawn), "{name}: twice");
        }
    }
}

/// Every bit of every integer is sometimes 0 and sometimes 1.
#[test]
fn integers_have_all_their_bits() {
    macro_rules! check {
        ($($draw:ident: $int:ty)*) => {$(
            let drawn = [(); 200].map(|()| crng::$draw());
            let (all, any) = drawn.iter().fold((<$int>::MAX, 0), |(all, any), x| (all & x, any | x));
            assert_eq!((all, any), (0, <$int>::MAX), stringify!($draw));
        )*};
    }
    check!(u8: u8 u16: u16 u32: u32 u64: u64 u128: u128);
    let heads = (0..200).filter(|_| crng::bool()).count();
    assert!((1..200).contains(&heads), "{heads} of 200");
}

/// Of 1024 truth values, fewer than 352 or more than 672 are true with a probability of 2^-75.
#[test]
fn truth_is_as_likely_as_falsehood() {
    let heads = (0..1024).filter(|_| crng::bool()).count();
    assert!((352..=672).contains(&heads), "{heads} of 1024");
}

#[test]
fn choices_stay_in_their_bounds_and_reach_them() {
    let below: BTreeSet<u64> = (0..1000).map(|_| crng::below(5)).collect();
    assert_eq!(below, (0..5).collect());
    let range: BTreeSet<i8> = (0..1000).map(|_| crng::range(-2..=2)).collect();
    assert_eq!(range, (-2..=2).collect());

    let in_order: Vec<u32> = (0..100).collect();
    let mut shuffled = in_order.clone();
    crng::shuffle(&mut shuffled);
    assert_ne!(shuffled, in_order);
    shuffled.sort_unstable();
    assert_eq!(shuffled, in_order);
}

/// Between two checkpoints lies a section, less the block that makes the next key.
#[test]
fn a_fill_with_checkpoints_goes_a_section_at_a_time() {
    let mut bytes = vec![0; 100_000];
    let mut places = vec![0];
    let filled = crng::fill_with(&mut bytes, |done| {
        places.push(done);
        ControlFlow::Continue(())
    });
    assert_eq!(filled, ControlFlow::Continue(()));
    assert_eq!(places.len(), 1 + 100_000 / (CHACHA20_BYTES - 64));
    assert!(places.windows(2).all(|two| two[1] - two[0] == CHACHA20_BYTES - 64), "{places:?}");
}

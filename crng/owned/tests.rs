//! Tests of owned generators.

use std::vec::Vec;

use super::*;
use crate::fork::{self, Stamp};

/// Counts what it is asked for, and fails when told to.
struct Mock {
    draws: u32,
    fails: bool,
    panics: bool,
}

impl EntropySource for Mock {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        assert!(!self.panics, "the source panics");
        if self.fails {
            dst[0] = 1;
            return Err(Error::SOURCE);
        }
        self.draws += 1;
        for (i, byte) in dst.iter_mut().enumerate() {
            *byte = (self.draws * 31 + i as u32) as u8;
        }
        Ok(())
    }
}

/// Where the kernel does not wipe pages, under an emulator for one, every call must draw.
fn draws_for_each_call() -> bool {
    fork::stamp() == Stamp::Unknown
}

const MOCK: Mock = Mock { draws: 0, fails: false, panics: false };

fn bytes<E: EntropySource>(crng: &mut Crng<E>) -> [u8; 32] {
    let mut bytes = [0; 32];
    crng.try_fill(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_source_that_fails_builds_nothing() {
    let built = Crng::builder().source(Mock { fails: true, ..MOCK }).build();
    assert_eq!(built.map(|_| ()), Err(Error::SOURCE));
}

#[test]
fn a_source_that_repeats_one_byte_builds_nothing() {
    struct Stuck;
    impl EntropySource for Stuck {
        fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
            dst.fill(0xa5);
            Ok(())
        }
    }
    assert_eq!(Crng::builder().source(Stuck).build().map(|_| ()), Err(Error::WEAK));
}

#[test]
fn new_entropy_is_drawn_after_a_mebibyte() {
    let mut crng = Crng::builder().source(MOCK).build().unwrap();
    let mut block = std::vec![0; 1000];
    for _ in 0..1000 {
        crng.try_fill(&mut block).unwrap();
    }
    assert_eq!(crng.source.draws, if draws_for_each_call() { 1001 } else { 1 });
    let drawn = crng.source.draws;
    for _ in 0..53 {
        crng.try_fill(&mut block).unwrap();
    }
    assert!(crng.source.draws > drawn);
}

#[test]
fn a_failed_reseed_leaves_the_stream_going_and_is_tried_again() {
    let mut crng = Crng::builder().source(MOCK).build().unwrap();
    crng.source.fails = true;
    assert_eq!(crng.reseed(), Err(Error::SOURCE));
    if draws_for_each_call() {
        assert_eq!(crng.try_fill(&mut [0; 8]), Err(Error::SOURCE));
        return;
    }
    assert!(crng.health().degraded());
    assert_ne!(bytes(&mut crng), bytes(&mut crng));
    assert_eq!(crng.source.draws, 1);
    crng.source.fails = false;
    crng.reseed().unwrap();
    assert!(!crng.health().degraded());
    assert_eq!((crng.source.draws, crng.health().reseeds()), (2, 2));
}

#[test]
fn strict_draws_for_every_call_and_fails_with_zeros() {
    let mut crng = Crng::builder().source(MOCK).policy(Policy::Strict).build().unwrap();
    bytes(&mut crng);
    bytes(&mut crng);
    assert_eq!(crng.source.draws, 3);
    crng.source.fails = true;
    let mut dst = [1; 40];
    assert_eq!(crng.try_fill(&mut dst), Err(Error::SOURCE));
    assert_eq!(dst, [0; 40]);
}

#[test]
fn a_source_that_panics_leaves_the_generator_unseeded() {
    let mut crng = Crng::builder().source(MOCK).build().unwrap();
    bytes(&mut crng);
    crng.source.panics = true;
    let call = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| crng.reseed()));
    assert!(call.is_err());
    (crng.source.panics, crng.source.fails) = (false, true);
    assert_eq!(crng.try_fill(&mut [0; 8]), Err(Error::SOURCE));
    crng.source.fails = false;
    assert_ne!(bytes(&mut crng), bytes(&mut crng));
}

#[test]
fn numbers_and_orders_come_from_the_source() {
    let mut crng = Crng::builder().source(MOCK).build().unwrap();
    assert!((0..100).all(|_| crng.try_below(10).unwrap() < 10));
    assert!((0..100).all(|_| (-3..=3).contains(&crng.try_range(-3..=3).unwrap())));
    let heads = (0..200).filter(|_| crng.try_bool().unwrap()).count();
    assert!((50..150).contains(&heads), "{heads} of 200");
    let mut deck: Vec<u8> = (0..52).collect();
    crng.try_shuffle(&mut deck).unwrap();
    assert!(!deck.is_sorted());
    deck.sort();
    assert!(deck.into_iter().eq(0..52));
    let mut keys = [const { SessionKey::<32>::zeroed() }; 3];
    crng.try_fill_keys(&mut keys).unwrap();
    assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    let mut crng = Crng::builder().source(MOCK).policy(Policy::Strict).build().unwrap();
    crng.source.fails = true;
    assert_eq!(crng.try_u64(), Err(Error::SOURCE));
    assert_eq!(crng.try_bool(), Err(Error::SOURCE));
    assert_eq!(crng.try_range(1..=6), Err(Error::SOURCE));
    assert_eq!(crng.try_shuffle(&mut [1, 2]), Err(Error::SOURCE));
    assert_eq!(crng.try_fill_keys(&mut keys), Err(Error::SOURCE));
    assert_eq!(keys[0], SessionKey::zeroed());
}

#[test]
fn personalization_separates_equal_sources() {
    let outputs: Vec<[u8; 32]> = [b"".as_slice(), b"a", b"b"]
        .into_iter()
        .map(|label| Crng::builder().source(MOCK).personalization(label).build().unwrap())
        .map(|mut crng| bytes(&mut crng))
        .collect();
    assert_ne!(outputs[0], outputs[1]);
    assert_ne!(outputs[1], outputs[2]);
}

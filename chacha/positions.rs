//! The streams' positions: pieces, jumps, and where a stream ends.

use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::cpu;

/// Every backend, and those that are tuned to Zen 5 once more.
fn on_every_backend(check: impl Fn(&str)) {
    let tuned = cpu::backends().filter(|name| ["avx512", "avx2"].contains(name));
    let tuned = tuned.map(|name| format!("{name}+zen5"));
    for backend in cpu::backends().map(String::from).chain(tuned) {
        let _guard = cpu::force(&backend).unwrap();
        check(&backend);
    }
}

fn whole(len: usize) -> Vec<u8> {
    let _guard = cpu::force("scalar").unwrap();
    let mut whole = vec![0; len];
    XChaCha20::from_key(&[3; 32], &[4; 24]).write_keystream(&mut whole);
    whole
}

#[test]
fn after_every_length_the_next_block_follows() {
    let whole = whole(1164);
    on_every_backend(|backend| {
        for len in 0..=1100 {
            let mut cipher = XChaCha20::from_key(&[3; 32], &[4; 24]);
            let mut bytes = vec![0; len + 64];
            let (first, next) = bytes.split_at_mut(len);
            cipher.apply_keystream(first);
            cipher.apply_keystream(next);
            assert!(bytes == whole[..len + 64], "{backend} length {len}");
        }
    });
}

#[test]
fn a_thousand_random_splits_give_the_bytes_of_one_call() {
    let whole = whole(5000);
    on_every_backend(|backend| {
        let mut random = 1_u64;
        for split in 0..1000 {
            let mut cipher = XChaCha20::from_key(&[3; 32], &[4; 24]);
            let mut bytes = vec![0; whole.len()];
            let mut rest = &mut bytes[..];
            while !rest.is_empty() {
                // Knuth's MMIX generator.
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let longest = [1, 17, 70, 300, 2500][(random >> 40) as usize % 5];
                let len = rest.len().min((random >> 50) as usize % longest + 1);
                let (piece, after) = rest.split_at_mut(len);
                cipher.apply_keystream(piece);
                rest = after;
            }
            assert!(bytes == whole, "{backend} split {split}");
        }
    });
}

#[test]
fn the_keystream_ends_where_its_counter_does() {
    let mut cipher = ChaCha20::from_key(&[1; 32], &[2; 12]);
    let end = 1 << 38;
    cipher.seek_to(end - 70);
    let mut bytes = [9; 71];
    assert_eq!(cipher.try_apply_keystream(&mut bytes), Err(Exhausted(())));
    assert_eq!((bytes, cipher.position()), ([9; 71], end - 70));
    assert_eq!(cipher.try_apply_keystream(&mut bytes[..70]), Ok(()));
    assert_eq!(cipher.position(), end);
    let last = block(&[1; 32], u32::MAX, &[2; 12]);
    assert!(bytes[6..70].iter().zip(last).all(|(got, keystream)| *got == 9 ^ keystream));
    assert_eq!(cipher.try_apply_keystream(&mut bytes[..1]), Err(Exhausted(())));
    assert_eq!(cipher.try_apply_keystream(&mut []), Ok(()));
    cipher.seek_to(u64::MAX);
    assert_eq!(cipher.try_apply_keystream(&mut bytes[..1]), Err(Exhausted(())));
    cipher.seek_to(0);
    assert_eq!(cipher.try_apply_keystream(&mut bytes), Ok(()));
}

#[test]
fn a_64_bit_counter_ends_with_the_positions() {
    let mut cipher = ChaCha20Legacy::from_key(&[1; 32], &[2; 8]);
    cipher.seek_to(u64::MAX - 3);
    let mut bytes = [0; 4];
    assert_eq!(cipher.try_apply_keystream(&mut bytes), Err(Exhausted(())));
    assert_eq!(cipher.try_apply_keystream(&mut bytes[..3]), Ok(()));
    assert_eq!(cipher.position(), u64::MAX);
}

#[test]
#[should_panic(expected = "keystream left")]
fn apply_keystream_panics_when_exhausted() {
    let mut cipher = ChaCha8::from_key(&[1; 32], &[2; 12]);
    cipher.seek_to(1 << 38);
    cipher.apply_keystream(&mut [0]);
}

#[test]
fn debug_shows_the_position_alone() {
    let cipher = ChaCha20::from_key(&[0x5a; 32], &[2; 12]);
    assert_eq!(format!("{cipher:?}"), "ChaCha20 { position: 0, .. }");
}

proptest! {
    /// Pieces of any length, and jumps to any place, give the bytes of one call.
    #[test]
    fn pieces_and_jumps_give_the_bytes_of_one_call(
        pieces in prop::collection::vec((0..3000u64, 0..200usize), 1..40),
    ) {
        let mut whole = vec![0; 4096];
        XChaCha20::from_key(&[3; 32], &[4; 24]).write_keystream(&mut whole);
        let mut cipher = XChaCha20::from_key(&[3; 32], &[4; 24]);
        let mut at = 0;
        for (place, len) in pieces {
            // One piece in three jumps; the others go on.
            if place % 3 == 0 || at + 200 > whole.len() {
                at = place as usize;
                cipher.seek_to(place);
            }
            let mut piece = vec![0; len];
            cipher.write_keystream(&mut piece);
            prop_assert_eq!(&piece, &whole[at..at + len]);
            at += len;
            prop_assert_eq!(cipher.position(), at as u64);
        }
    }
}

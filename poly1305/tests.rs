//! Every row and both radices against big integers.

use std::vec::Vec;
use std::{format, println, vec};

use num_bigint::BigUint;
use proptest::prelude::*;

use super::backend::TABLE;
use super::batch::Message;
#[cfg(target_pointer_width = "64")]
use super::lanes;
#[cfg(target_pointer_width = "64")]
use super::lanes26::Radix26;
#[cfg(target_pointer_width = "64")]
use super::lanes44::Radix44;
#[cfg(target_pointer_width = "64")]
use super::models::Plain;
use super::scalar::{radix26, radix64};
use super::*;
use crate::cpu::usable;

/// RFC 8439, section 2.5.1, as it stands there.
fn model(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let p = (BigUint::from(1u8) << 130) - 5u8;
    let clamp = BigUint::from(0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff_u128);
    let r = BigUint::from_bytes_le(&key[..16]) & clamp;
    let s = BigUint::from_bytes_le(&key[16..]);
    let mut h = BigUint::ZERO;
    for block in message.chunks(16) {
        let mut block = block.to_vec();
        block.push(1);
        h = (h + BigUint::from_bytes_le(&block)) * &r % &p;
    }
    let mut tag = (h + s).to_bytes_le();
    tag.resize(16, 0);
    *tag.first_chunk().unwrap()
}

/// One way to the tag of a message.
struct Way {
    name: &'static str,
    /// Of a message in two pieces, the first of whole blocks.
    tag: fn(&[u8; 32], [&[u8]; 2]) -> [u8; 16],
}

macro_rules! radix {
    ($name:literal, $state:ty) => {
        Way {
            name: $name,
            tag: |key, pieces| {
                let mut state = <$state>::new(key[..16].try_into().unwrap());
                for piece in pieces {
                    let (blocks, last) = piece.as_chunks();
                    state.blocks(blocks);
                    if !last.is_empty() {
                        state.last(last);
                    }
                }
                state.tag(key[16..].try_into().unwrap())
            },
        }
    };
}

/// The vector bodies on lanes that are arrays, so that the widest run everywhere.
#[cfg(target_pointer_width = "64")]
macro_rules! lanes {
    ($name:literal, $radix:ty, $lanes:literal) => {
        Way {
            name: $name,
            tag: |key, pieces| {
                let mut state = scalar::State::new(key[..16].try_into().unwrap());
                let mut powers = None;
                for piece in pieces {
                    let (blocks, last) = piece.as_chunks();
                    if !blocks.is_empty() {
                        lanes::blocks::<_, $radix, _>(
                            Plain::<$lanes>,
                            &mut state,
                            &mut powers,
                            blocks,
                        );
                    }
                    if !last.is_empty() {
                        state.last(last);
                    }
                }
                state.tag(key[16..].try_into().unwrap())
            },
        }
    };
}

const WAYS: &[Way] = &[
    radix!("radix 2^64", radix64::State),
    radix!("radix 2^26", radix26::State),
    #[cfg(target_pointer_width = "64")]
    lanes!("radix 2^44, 8 lanes", Radix44, 8),
    #[cfg(target_pointer_width = "64")]
    lanes!("radix 2^26, 8 lanes", Radix26, 8),
    #[cfg(target_pointer_width = "64")]
    lanes!("radix 2^26, 4 lanes", Radix26, 4),
    #[cfg(target_pointer_width = "64")]
    lanes!("radix 2^26, 2 lanes", Radix26, 2),
];

/// Checks every way and every row on a message, whole and in two pieces: the second finds an
/// accumulator, and powers. Returns how often each was run.
#[track_caller]
fn check(key: &[u8; 32], message: &[u8]) -> usize {
    let expected = model(key, message);
    let splits = [0, 16, 256].into_iter().filter(|split| *split <= message.len());
    for split in splits.clone() {
        let (first, second) = message.split_at(split);
        let case = || format!("length {} split {split} key {key:x?}", message.len());
        for way in WAYS {
            assert_eq!((way.tag)(key, [first, second]), expected, "{} {}", way.name, case());
        }
        let rows = usable(TABLE).map(Core::on);
        for core in rows.flat_map(|core| [core, core.without_threshold()]) {
            let mut poly = Poly1305::over(Accumulator::new(core, key));
            poly.update(first);
            poly.update(second);
            assert_eq!(poly.finalize(), expected, "{} {}", core.name(), case());
        }
    }
    splits.count()
}

fn key_of(r: u128) -> [u8; 32] {
    let mut key = [0xff; 32];
    key[..16].copy_from_slice(&r.to_le_bytes());
    key
}

#[test]
fn every_length_gives_the_models_tag() {
    let message: Vec<u8> = (0..20_000).map(|i| (i % 251) as u8).collect();
    let key = core::array::from_fn(|i| 0xff - i as u8 * 5);
    // Around a section and two of them, an end too short for the vector kernel.
    let around_sections = (8192 - 20..8192 + 100).chain(2 * 8192 - 20..2 * 8192 + 100);
    for len in (0..=1100).chain(around_sections).chain([20_000]) {
        check(&key, &message[..len]);
    }
}

/// The edges of the limbs of every radix: in r, in the first block, in the blocks after it.
#[test]
fn limb_edges_give_the_models_tag() {
    const CLAMPED: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
    let rs = [1, 2, 4, 5, 1 << 26, 1 << 27, (1 << 28) - 1, CLAMPED, CLAMPED - 3, 1 << 44, 1 << 59];
    let mut blocks = vec![0, u128::MAX, (1 << 44) - 1, (1 << 45) - 1, (1 << 26) - 1, (1 << 27) - 1];
    // Around p = 2^130 - 5, less the bit above a whole block.
    blocks.extend((0..8).map(|i| u128::MAX - i));
    let counts = (1..=33).chain([63, 64, 65, 80, 128]);
    let (mut messages, mut cases) = (0, 0);
    for count in counts {
        for r in rs {
            for first in &blocks {
                for other in &blocks[..6] {
                    let mut message = first.to_le_bytes().to_vec();
                    for _ in 1..count {
                        message.extend(other.to_le_bytes());
                    }
                    messages += 1;
                    cases += check(&key_of(r), &message);
                }
            }
        }
    }
    println!("limb edges: {messages} messages, {cases} cases for each radix and every row");
    assert_eq!(messages, 38 * 11 * 14 * 6);
    assert!(cases >= 2 * messages, "whole, and after 16 bytes at least");
}

/// With r = 1 the accumulator is the sum of the blocks, and 2^129 - 1 twice is p + 3: the last
/// reduction sees every value around p, and around 2 p.
#[test]
fn results_around_p_are_reduced() {
    const ALL_ONES: u128 = u128::MAX;
    let mut around_p = 0;
    for ones in [1, 3, 5, 7] {
        for i in 0..64 {
            let blocks = [vec![ALL_ONES; ones], vec![ALL_ONES - i]].concat();
            let message: Vec<u8> = blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
            check(&key_of(1), &message);
            let p = (BigUint::from(1u8) << 130) - 5u8;
            let sum: BigUint =
                blocks.iter().map(|b| BigUint::from(*b) + (BigUint::from(1u8) << 128)).sum();
            let rest = &sum % &p;
            around_p += usize::from(rest < BigUint::from(64u8) || &p - rest < BigUint::from(64u8));
        }
    }
    assert_eq!(around_p, 4 * 64);
}

#[test]
fn all_ones_give_the_models_tag() {
    let message = vec![0xff; 4096];
    for len in (0..=512).chain([1023, 1024, 2048, 4095, 4096]) {
        check(&[0xff; 32], &message[..len]);
    }
}

/// Messages of all mixes of lengths, each under its own key, in batches of every size.
#[test]
fn batches_give_the_tags_of_their_messages() {
    let text: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
    let mut batched = 0;
    let rows = usable(TABLE).map(Core::on);
    for core in rows.flat_map(|core| [core, core.without_threshold()]) {
        for count in (0..=20).chain([33]) {
            for spread in [0, 1, 16, 17, 160, 700] {
                let keys: Vec<[u8; 32]> =
                    (0..count).map(|i| core::array::from_fn(|j| (i * 37 + j * 11) as u8)).collect();
                let messages: Vec<Message<'_>> = (0..count)
                    .map(|i| Message {
                        key: &keys[i],
                        parts: [&text[i..][..i * 5 % 67], &text[i * 3..][..(i * spread) % 2300]],
                        last: [i as u8; 16],
                    })
                    .collect();
                let mut tags = vec![[0; 16]; count];
                core.batch(&messages, &mut tags);
                for (i, (message, tag)) in messages.iter().zip(tags).enumerate() {
                    let mut whole = Vec::new();
                    for part in message.parts {
                        whole.extend_from_slice(part);
                        whole.resize(whole.len().next_multiple_of(16), 0);
                    }
                    whole.extend_from_slice(&message.last);
                    let case = format!("{} message {i} of {count} spread {spread}", core.name());
                    assert_eq!(tag, model(message.key, &whole), "{case}");
                    batched += 1;
                }
            }
        }
    }
    println!("batches: {batched} messages");
}

#[test]
fn a_wrong_tag_is_refused_whichever_bit_is_wrong() {
    let mut tag = mac(&[3; 32], b"message");
    for bit in 0..128 {
        tag[bit / 8] ^= 1 << (bit % 8);
        let mut poly = Poly1305::from_key(&[3; 32]);
        poly.update(b"message");
        assert_eq!(poly.verify(&tag), Err(Error(())), "bit {bit}");
        tag[bit / 8] ^= 1 << (bit % 8);
    }
    let mut poly = Poly1305::from_key(&[3; 32]);
    poly.update(b"message");
    assert_eq!(poly.verify(&tag), Ok(()));
}

proptest! {
    #[test]
    fn random_messages_give_the_models_tag(
        key in any::<[u8; 32]>(),
        message in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        check(&key, &message);
    }

    /// However a message is split, and wherever it is padded inside.
    #[test]
    fn splits_give_the_tag_of_the_whole(
        key in any::<[u8; 32]>(),
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..12),
    ) {
        let mut poly = Poly1305::from_key(&key);
        let mut whole = Vec::new();
        for piece in &pieces {
            poly.update(piece);
            whole.extend_from_slice(piece);
        }
        prop_assert_eq!(poly.clone().finalize(), model(&key, &whole));
        poly.pad();
        whole.resize(whole.len().next_multiple_of(16), 0);
        prop_assert_eq!(poly.finalize(), model(&key, &whole));
    }
}

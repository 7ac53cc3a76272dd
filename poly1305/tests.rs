//! Every row and both radices against big integers.

use std::string::String;
use std::vec::Vec;
use std::{format, println, vec};

use num_bigint::BigUint;
use proptest::prelude::*;

use super::backend::TABLE;
use super::batch::Message;
#[cfg(target_pointer_width = "64")]
use super::lanes26::Radix26;
#[cfg(target_pointer_width = "64")]
use super::lanes44::Radix44;
#[cfg(target_pointer_width = "64")]
use super::models::{self, Plain};
use super::scalar::{radix26, radix64};
use super::*;
use crate::cpu::usable;

/// RFC 8439, section 2.5.1, as it stands there.
fn model(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    model_from(&BigUint::ZERO, key, message)
}

/// The same from another accumulator than 0.
fn model_from(accumulator: &BigUint, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let p = (BigUint::from(1u8) << 130) - 5u8;
    let clamp = BigUint::from(0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff_u128);
    let r = BigUint::from_bytes_le(&key[..16]) & clamp;
    let s = BigUint::from_bytes_le(&key[16..]);
    let mut h = accumulator.clone();
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
                        models::blocks::<_, $radix, _>(
                            Plain::<$lanes>,
                            &mut state,
                            Some(&mut powers),
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

/// The short path of a radix.
macro_rules! whole {
    ($name:literal, $mac:expr) => {
        Way {
            name: $name,
            tag: |key, pieces| {
                let (r, s) = (key[..16].try_into().unwrap(), key[16..].try_into().unwrap());
                $mac(r, s, &pieces.concat())
            },
        }
    };
}

const WAYS: &[Way] = &[
    whole!("radix 2^64, whole", radix64::mac),
    whole!("radix 2^26, whole", radix26::mac),
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

/// Checks every row on a message, and every way.
#[track_caller]
fn check(key: &[u8; 32], message: &[u8]) {
    check_rows(key, message);
    check_ways(key, message);
}

/// Checks every row: as it is, and without its threshold, whole and in two pieces, of which the
/// second finds an accumulator and powers. Returns how often each row was run.
#[track_caller]
fn check_rows(key: &[u8; 32], message: &[u8]) -> usize {
    let expected = model(key, message);
    let mut cases = 0;
    for row in usable(TABLE).map(Core::on) {
        let splits = splits(message).map(|split| (row.without_threshold(), split));
        cases = 0;
        for (core, split) in [(row, 0)].into_iter().chain(splits) {
            let mut poly = Poly1305::over(Accumulator::new(core, key));
            poly.update(&message[..split]);
            poly.update(&message[split..]);
            let case = || format!("{} length {} split {split}", core.name(), message.len());
            assert_eq!(poly.finalize(), expected, "{} key {key:x?}", case());
            cases += 1;
        }
    }
    cases
}

/// The same without a row, so on every machine alike.
#[track_caller]
fn check_ways(key: &[u8; 32], message: &[u8]) -> usize {
    let expected = model(key, message);
    for way in WAYS {
        for split in splits(message) {
            let (first, second) = message.split_at(split);
            let case = || format!("{} length {} split {split}", way.name, message.len());
            assert_eq!((way.tag)(key, [first, second]), expected, "{} key {key:x?}", case());
        }
    }
    splits(message).count()
}

fn splits(message: &[u8]) -> impl Iterator<Item = usize> {
    [0, 16, 256].into_iter().filter(|split| *split <= message.len())
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

/// The edges of the limbs of every radix: in r, in the first block, in the blocks after it; block
/// counts around every threshold and group. Returns the messages, and the cases that `check` counts.
fn limb_edges(check: fn(&[u8; 32], &[u8]) -> usize) -> [usize; 2] {
    const CLAMPED: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
    let rs = [1, 2, 4, 5, 1 << 26, 1 << 27, (1 << 28) - 1, CLAMPED, CLAMPED - 3, 1 << 44, 1 << 59];
    let mut blocks = vec![0, u128::MAX, (1 << 44) - 1, (1 << 45) - 1, (1 << 26) - 1, (1 << 27) - 1];
    // Around p = 2^130 - 5, less the bit above a whole block.
    blocks.extend((0..8).map(|i| u128::MAX - i));
    // The last is long enough for eight groups to a carry.
    let counts = (1..=33).chain([63, 64, 65, 80, 128, 512]);
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
    assert_eq!(messages, 39 * 11 * 14 * 6);
    [messages, cases]
}

#[test]
fn limb_edges_give_the_models_tag_on_every_row() {
    let [messages, cases] = limb_edges(check_rows);
    println!("limb edges: {messages} messages, {cases} cases for each row");
    assert!(cases >= 3 * messages, "at least these: as it is, whole, after 16 bytes");
}

#[test]
fn limb_edges_give_the_models_tag_in_every_radix() {
    let [messages, cases] = limb_edges(check_ways);
    println!("limb edges: {messages} messages, {cases} cases for each of {} ways", WAYS.len());
    assert!(cases >= 2 * messages, "at least these: whole, after 16 bytes");
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
    for i in 0..64 {
        // With the bits above three blocks, 2^130 - 1 - i.
        let message = [(ALL_ONES - i).to_le_bytes(), [0; 16], [0; 16]].concat();
        check(&key_of(1), &message);
    }
}

/// Accumulators that a kernel may find: up to 2^130 and above, as far as the scalar code leaves
/// them, bit 130 set among them.
#[test]
#[cfg(target_pointer_width = "64")]
fn every_accumulator_is_taken_in() {
    let r = (1 << 124) - 1;
    let key = key_of(r);
    let message = vec![0xff; 512 * 16];
    let accumulators = [0, 1, 3, 4].into_iter().flat_map(|top| {
        let edges = [0, 1, 4, 5, u64::MAX - 5, u64::MAX - 4, u64::MAX];
        edges.into_iter().flat_map(move |low| [0, u64::MAX].map(|middle| [low, middle, top]))
    });
    let mut cases = 0;
    for h in accumulators {
        let [low, middle, top] = h.map(BigUint::from);
        let number = low + (middle << 64) + (top << 128);
        for blocks in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 40, 69, 70, 512] {
            let message: &[[u8; 16]] = &message.as_chunks().0[..blocks];
            let start = scalar::State::with_accumulator(key[..16].try_into().unwrap(), h);
            let expected = model_from(&number, &key, message.as_flattened());
            for core in usable(TABLE).map(|row| Core::on(row).without_threshold()) {
                let (mut state, mut powers) = (start.clone(), None);
                core.blocks(&mut state, &mut powers, message);
                let tag = state.tag(key[16..].try_into().unwrap());
                assert_eq!(tag, expected, "{} {blocks} blocks from {h:x?}", core.name());
            }
            let (mut state, mut powers) = (start.clone(), None);
            models::blocks::<_, Radix44, _>(Plain::<8>, &mut state, Some(&mut powers), message);
            let tag = state.tag(key[16..].try_into().unwrap());
            assert_eq!(tag, expected, "radix 2^44 {blocks} blocks from {h:x?}");
            cases += 1;
        }
    }
    println!("accumulators: {cases} cases for every row");
}

#[test]
fn after_every_length_64_more_bytes_give_the_tag_of_the_sum() {
    let message: Vec<u8> = (0..1164).map(|i| (i % 251) as u8).collect();
    let key = core::array::from_fn(|i| 0xff - i as u8 * 5);
    for len in 0..=1100 {
        let expected = model(&key, &message[..len + 64]);
        for row in usable(TABLE).map(Core::on) {
            for core in [row, row.without_threshold()] {
                let mut poly = Poly1305::over(Accumulator::new(core, &key));
                poly.update(&message[..len]);
                poly.update(&message[len..len + 64]);
                assert_eq!(poly.finalize(), expected, "{} length {len}", core.name());
            }
        }
    }
}

#[test]
fn every_alignment_gives_the_models_tag() {
    let message: Vec<u8> = (0..1100).map(|i| (i % 251) as u8).collect();
    for len in [1, 16, 100, 128, 300, 1024, 1100] {
        let expected = model(&[0xa7; 32], &message[..len]);
        for core in usable(TABLE).map(Core::on) {
            for offset in 0..64 {
                let placed = [&vec![0; offset], &message[..len]].concat();
                let mut poly =
                    Poly1305::over(Accumulator::new(core.without_threshold(), &[0xa7; 32]));
                poly.update(&placed[offset..]);
                assert_eq!(poly.finalize(), expected, "{} {len} at {offset}", core.name());
            }
        }
    }
}

/// A message in so many random pieces, that powers, held bytes and short ends meet in all orders.
#[test]
fn a_thousand_random_splits_give_the_tag_of_the_whole() {
    let message: Vec<u8> = (0..3000).map(|i| (i % 251) as u8).collect();
    let key = core::array::from_fn(|i| 0xff - i as u8 * 5);
    let expected = model(&key, &message);
    for row in usable(TABLE).map(Core::on) {
        let mut random = 1u64;
        for split in 0..1000 {
            let core = if split % 2 == 0 { row } else { row.without_threshold() };
            let mut poly = Poly1305::over(Accumulator::new(core, &key));
            let mut rest = &message[..];
            while !rest.is_empty() {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let longest = [1, 17, 70, 300, 1500][(random >> 40) as usize % 5];
                let (piece, after) =
                    rest.split_at(rest.len().min((random >> 50) as usize % longest + 1));
                poly.update(piece);
                rest = after;
            }
            assert_eq!(poly.finalize(), expected, "{} split {split}", core.name());
        }
    }
}

/// In radix 2^26 a carry that is lost when limbs are packed shows in one of two million random messages
/// or so. Short ones through the scalar code, longer ones through the rows, against radix 2^64.
#[test]
#[ignore = "minutes: cargo test --release --lib hundred_million -- --ignored --nocapture"]
fn a_hundred_million_random_messages_agree_in_radix_26() {
    const CASES: u64 = 100_000_000;
    let rows: Vec<Core> = usable(TABLE).map(Core::on).map(Core::without_threshold).collect();
    let rows: Vec<Core> =
        rows.into_iter().filter(|row| ["avx2", "avx512", "neon"].contains(&row.name())).collect();
    let mut random = 1u64;
    let mut next = || {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut message = [[0; 16]; 20];
    let mut key = [[0; 16]; 2];
    for case in 0..CASES {
        let blocks = 1 + (next() % 20) as usize;
        for block in message[..blocks].iter_mut().chain(&mut key) {
            *block = (u128::from(next()) << 64 | u128::from(next())).to_le_bytes();
        }
        let [r, s] = &key;
        let message = &message[..blocks];
        let expected = radix64::mac(r, s, message.as_flattened());
        let tag = radix26::mac(r, s, message.as_flattened());
        assert_eq!(tag, expected, "radix 2^26, case {case}: {key:x?} {message:x?}");
        for row in &rows {
            let mut state = scalar::State::new(r);
            row.once(&mut state, message);
            assert_eq!(state.tag(s), expected, "{} case {case}: {key:x?} {message:x?}", row.name());
        }
    }
    let names: Vec<&str> = rows.iter().map(|row| row.name()).collect();
    println!("{CASES} messages in scalar radix 2^26 and on each of {names:?}");
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
                check_batch(
                    &messages,
                    |tags| core.batch(&messages, tags),
                    || format!("{} spread {spread}", core.name()),
                );
                batched += count;
            }
        }
    }
    println!("batches: {batched} messages");
}

/// Checks the tags of a batch against the model.
#[track_caller]
fn check_batch(
    messages: &[Message<'_>],
    batch: impl FnOnce(&mut [[u8; 16]]),
    case: impl Fn() -> String,
) {
    let mut tags = vec![[0; 16]; messages.len()];
    batch(&mut tags);
    for (i, (message, tag)) in messages.iter().zip(tags).enumerate() {
        let mut whole = Vec::new();
        for part in message.parts {
            whole.extend_from_slice(part);
            whole.resize(whole.len().next_multiple_of(16), 0);
        }
        whole.extend_from_slice(&message.last);
        let expected = model(message.key, &whole);
        assert_eq!(tag, expected, "{} message {i} of {}", case(), messages.len());
    }
}

/// Messages that fill the lanes of one vector or two, all with parts of the same lengths; and where
/// one is not like the others: longer, or with its parts' lengths swapped, so that the sum is the same.
#[test]
fn batches_of_one_length_give_the_tags_of_their_messages() {
    const LENGTHS: [usize; 6] = [0, 1, 15, 16, 17, 65];
    let text: Vec<u8> = (0..500).map(|i| (i % 251) as u8).collect();
    for count in [2, 4, 8, 16] {
        let keys: Vec<[u8; 32]> =
            (0..count).map(|i| core::array::from_fn(|j| !(i * 37 + j * 11) as u8)).collect();
        for lengths in LENGTHS.into_iter().flat_map(|a| LENGTHS.map(|b| [a, b])) {
            let [a, b] = lengths;
            let odd = [[a + 1, b], [a, b + 16], [b, a]];
            let odd = odd.into_iter().flat_map(|odd| [0, count / 2, count - 1].map(|i| (i, odd)));
            for (i, odd) in [(0, lengths)].into_iter().chain(odd) {
                let messages: Vec<Message<'_>> = (0..count)
                    .map(|j| {
                        let [a, b] = if i == j { odd } else { lengths };
                        Message {
                            key: &keys[j],
                            parts: [&text[j..][..a], &text[j * 3..][..b]],
                            last: [j as u8; 16],
                        }
                    })
                    .collect();
                check_alike(&messages, &format!("{lengths:?}, message {i} {odd:?}"));
            }
        }
    }
}

/// Checks a batch on every row, and on lanes that are arrays where it fills these.
#[track_caller]
fn check_alike(messages: &[Message<'_>], case: &str) {
    for core in usable(TABLE).map(|row| Core::on(row).without_threshold()) {
        check_batch(
            messages,
            |tags| core.batch(messages, tags),
            || format!("{} lengths {case}", core.name()),
        );
    }
    #[cfg(target_pointer_width = "64")]
    {
        type Tags = fn(&[Message<'_>], &mut [[u8; 16]]);
        let kernels: [(usize, Tags); 4] = [
            (8, |messages, tags| batch::tags::<_, Radix44, _, 1>(Plain::<8>, messages, tags)),
            (16, |messages, tags| batch::tags::<_, Radix44, _, 2>(Plain::<8>, messages, tags)),
            (4, |messages, tags| batch::tags::<_, Radix26, _, 1>(Plain::<4>, messages, tags)),
            (4, |messages, tags| batch::tags::<_, Radix26, _, 2>(Plain::<2>, messages, tags)),
        ];
        for (_, kernel) in kernels.iter().filter(|(full, _)| *full == messages.len()) {
            check_batch(messages, |tags| kernel(messages, tags), || format!("arrays {case}"));
        }
    }
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

    /// However a message is split, and padded behind its last piece.
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
        prop_assert_eq!(poly.finalize(), model(&key, &whole));
        let mut padded = Accumulator::new(Core::new(), &key);
        let parts: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(padded.padded_parts(&parts), whole.len());
        whole.resize(whole.len().next_multiple_of(16), 0);
        prop_assert_eq!(padded.tag(), model(&key, &whole));
    }
}

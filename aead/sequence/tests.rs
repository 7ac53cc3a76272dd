//! Sealer and Opener against one message at a time, and what ends them.

use std::vec::Vec;

use super::opener::MOST_REFUSED;
use super::*;
use crate::aead::tests::{Random, backends, painted};
use crate::aead::{Error, Packet};
use crate::chacha::Core;
use crate::cpu;

const KEY: [u8; 32] = [0x42; 32];
const SEQUENCES: [NonceSequence; 2] =
    [NonceSequence::XorBigEndian([0xa5; 12]), NonceSequence::CounterLittleEndian];

/// Mostly short, so that keystream ahead is used, dropped and outgrown.
fn some_len(random: &mut Random) -> usize {
    match random.below(16) {
        0 => random.below(1500),
        1..=4 => random.below(200),
        5 => 64 * random.below(4),
        _ => random.below(65),
    }
}

/// 10,000 messages for each backend: what a Sealer seals is what its cipher seals under the nonce of
/// the number, and an Opener opens it, in order, out of order, after forgeries and again.
#[test]
fn a_sequence_is_its_messages_one_at_a_time() {
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let mut random = Random(9);
        let cipher = ChaCha20Poly1305::from_key(&KEY);
        for sequence in SEQUENCES {
            let mut sealer = Sealer::resume(&KEY, sequence, u64::MAX / 3);
            let mut opener = Opener::new(&KEY, sequence);
            let mut late = Vec::new();
            for _ in 0..5000 {
                if random.below(50) == 0 {
                    sealer.skip_to(sealer.next_number() + random.below(20) as u64).unwrap();
                }
                let message = painted(some_len(&mut random));
                let (number, aad) = (sealer.next_number(), painted(message.len() % 29));
                let mut expected = message.clone();
                let nonce = sequence.nonce(number);
                let expected_tag = cipher.seal_in_place(&nonce, &aad, &mut expected).unwrap();

                let mut sealed = message.clone();
                let got = sealer.seal_next(&aad, &mut sealed).unwrap();
                assert_eq!(got, (number, expected_tag), "{backend} number {number}");
                assert_eq!(sealed, expected, "{backend} number {number}");

                if random.below(8) == 0 {
                    late.push((number, sealed, got.1, message));
                    continue;
                }
                if random.below(4) == 0 {
                    let refused = opener.open(number, b"forged", &mut sealed, &got.1);
                    assert_eq!(refused, Err(Error(())), "{backend} number {number}");
                    assert_eq!(sealed, expected, "{backend} number {number}: left as it was");
                }
                opener.open(number, &aad, &mut sealed, &got.1).unwrap();
                assert_eq!(sealed, message, "{backend} number {number}");
                if random.below(8) == 0 {
                    opener.open(number, &aad, &mut expected, &got.1).unwrap();
                    assert_eq!(expected, message, "{backend} number {number}: again");
                }
                if late.len() > 3 {
                    let (number, mut sealed, tag, message): (u64, Vec<u8>, [u8; 16], Vec<u8>) =
                        late.swap_remove(0);
                    opener.open(number, &painted(message.len() % 29), &mut sealed, &tag).unwrap();
                    assert_eq!(sealed, message, "{backend} number {number}: late");
                }
            }
        }
    }
}

/// Keystream ahead is really made and used, but without vectors: the test above would hold without.
#[test]
fn short_messages_in_a_row_are_sealed_with_keystream_ahead() {
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let pass = Core::new().longest_pass();
        let mut sealer = Sealer::new(&KEY, SEQUENCES[0]);
        let mut check = |len: usize, expected: usize| {
            sealer.seal_next(b"", &mut painted(len)).unwrap();
            assert_eq!(sealer.ahead.made() as usize, expected, "{backend} length {len}");
        };
        check(64, 0); // It may be the only one.
        let mut made = 0;
        for (each, longest) in [(2, 64), (4, 192), (8, 448), (16, 960)] {
            // Too long for what is there: it goes without, and its blocks are wiped.
            for left in (0..made).rev() {
                check(longest, left);
            }
            // Two in a row share a pass, or none is made.
            let count = if each <= pass / 2 { pass / each } else { 0 };
            for left in (0..count).rev() {
                check(longest, left);
            }
            made = count.saturating_sub(1);
            check(longest, made);
        }
        for _ in 0..3 {
            check(5000, made.saturating_sub(1));
            made = made.saturating_sub(1);
        }
        check(1, 0);
        check(1, (pass / 2).saturating_sub(1));
        sealer.skip_to(sealer.next_number() + 1).unwrap();
        assert_eq!(sealer.ahead.made(), 0);
        assert!(sealer.ahead.is_zero(), "{backend}: skipped keystream is wiped");
    }
}

/// What has been used is zero, and so is everything once a message has used the last.
#[test]
fn used_keystream_is_wiped() {
    let mut sealer = Sealer::new(&KEY, SEQUENCES[0]);
    for _ in 0..1 + Core::new().longest_pass() / 2 {
        sealer.seal_next(b"", &mut [0; 64]).unwrap();
    }
    assert_eq!(sealer.ahead.made(), 0);
    assert!(sealer.ahead.is_zero());
}

#[test]
fn a_batch_takes_the_next_numbers() {
    for sequence in SEQUENCES {
        let (mut sealer, mut one) = (Sealer::new(&KEY, sequence), Sealer::new(&KEY, sequence));
        for count in [3, 0, 1, 40] {
            let before = sealer.next_number();
            let mut buffers: Vec<Vec<u8>> = (0..count).map(|i| painted(i * 7)).collect();
            let mut packets: Vec<Packet<'_>> = buffers
                .iter_mut()
                .map(|in_out| Packet { nonce: [9; 12], aad: b"aad", in_out, tag: [0; 16] })
                .collect();
            assert_eq!(sealer.seal_next_batch(&mut packets), Ok(before));
            assert_eq!(sealer.next_number(), before + count as u64);
            for (i, packet) in packets.iter().enumerate() {
                let mut expected = painted(i * 7);
                let (number, tag) = one.seal_next(b"aad", &mut expected).unwrap();
                assert_eq!(packet.nonce, sequence.nonce(number));
                assert_eq!((&*packet.in_out, packet.tag), (expected.as_slice(), tag));
            }
            // What was made ahead before is not used after.
            let (mut a, mut b) = (painted(10), painted(10));
            assert_eq!(sealer.seal_next(b"", &mut a), one.seal_next(b"", &mut b));
            assert_eq!(a, b);
        }
    }
}

#[test]
fn numbers_are_not_spent_on_errors_and_never_come_again() {
    let mut sealer = Sealer::resume(&KEY, SEQUENCES[1], 10);
    assert_eq!(sealer.skip_to(9), Err(Error(())));
    assert_eq!(sealer.skip_to(10), Ok(()));
    assert_eq!(sealer.seal_next(b"", &mut []).unwrap().0, 10);
    assert_eq!(sealer.skip_to(10), Err(Error(())));
    assert_eq!(sealer.skip_to(1000), Ok(()));
    assert_eq!(sealer.seal_next(b"", &mut []).unwrap().0, 1000);
    assert_eq!(sealer.next_number(), 1001);
}

#[test]
fn the_last_number_is_2_to_the_64_less_2() {
    let last = u64::MAX - 1;
    let mut sealer = Sealer::resume(&KEY, SEQUENCES[0], last - 3);
    let mut opener = Opener::new(&KEY, SEQUENCES[0]).reject_replays();
    for number in last - 3..=last {
        let mut message = *b"message";
        let (got, tag) = sealer.seal_next(b"", &mut message).unwrap();
        assert_eq!(got, number);
        assert_eq!(opener.open(number, b"", &mut message, &tag), Ok(()));
    }
    let mut message = *b"message";
    assert_eq!(sealer.seal_next(b"", &mut message), Err(Error(())));
    assert_eq!(&message, b"message");
    assert_eq!(sealer.next_number(), u64::MAX);
    assert_eq!(sealer.skip_to(u64::MAX), Ok(()));
    assert_eq!(sealer.seal_next(b"", &mut message), Err(Error(())));
    assert_eq!(opener.open(u64::MAX, b"", &mut message, &[0; 16]), Err(Error(())));

    let mut sealer = Sealer::resume(&KEY, SEQUENCES[0], last);
    let (mut a, mut b) = ([1], [2]);
    let packet = |in_out| Packet { nonce: [3; 12], aad: b"", in_out, tag: [4; 16] };
    let mut two = [packet(&mut a), packet(&mut b)];
    assert_eq!(sealer.seal_next_batch(&mut two), Err(Error(())));
    for (i, packet) in two.iter().enumerate() {
        assert_eq!((packet.nonce, packet.tag), ([3; 12], [4; 16]), "nothing is written");
        assert_eq!(*packet.in_out, [i as u8 + 1]);
    }
    assert_eq!(sealer.seal_next_batch(&mut two[..1]), Ok(last));
    assert_eq!(sealer.seal_next_batch(&mut []), Err(Error(())));
}

#[test]
fn a_replay_is_refused_only_after_its_first_was_genuine() {
    let mut sealer = Sealer::new(&KEY, SEQUENCES[0]);
    let mut opener = Opener::new(&KEY, SEQUENCES[0]).reject_replays();
    let sealed: Vec<(u64, [u8; 1], [u8; 16])> = (0..10)
        .map(|i| {
            let mut message = [i];
            let (number, tag) = sealer.seal_next(b"", &mut message).unwrap();
            (number, message, tag)
        })
        .collect();
    for i in [3, 4, 0, 9, 8, 1] {
        let (number, ciphertext, tag) = sealed[i];
        let mut message = ciphertext;
        assert_eq!(opener.open(number, b"", &mut message, &[0; 16]), Err(Error(())));
        assert_eq!(opener.open(number, b"", &mut message, &tag), Ok(()), "number {number}");
        assert_eq!(message, [i as u8]);
        let mut again = ciphertext;
        assert_eq!(opener.open(number, b"", &mut again, &tag), Err(Error(())), "number {number}");
        assert_eq!(again, ciphertext);
    }
    assert_eq!(opener.refused, 6, "replays are no forgeries");

    // A forged number far ahead moves nothing; a genuine one leaves the old ones behind.
    let mut message = sealed[2].1;
    assert_eq!(opener.open(1 << 40, b"", &mut message, &[0; 16]), Err(Error(())));
    assert_eq!(opener.open(2, b"", &mut message, &sealed[2].2), Ok(()));
    sealer.skip_to(window::SIZE + 5).unwrap();
    let mut message = [];
    let (number, tag) = sealer.seal_next(b"", &mut message).unwrap();
    assert_eq!(opener.open(number, b"", &mut message, &tag), Ok(()));
    let mut message = sealed[5].1;
    assert_eq!(opener.open(5, b"", &mut message, &sealed[5].2), Err(Error(())), "too old");
    let mut message = sealed[6].1;
    assert_eq!(opener.open(6, b"", &mut message, &sealed[6].2), Ok(()), "just not too old");
}

#[test]
fn an_opener_ends_after_2_to_the_36_forgeries() {
    let mut sealer = Sealer::new(&KEY, SEQUENCES[0]);
    let mut opener = Opener::new(&KEY, SEQUENCES[0]);
    opener.refused = MOST_REFUSED - 2;
    let mut message = *b"message";
    let (number, tag) = sealer.seal_next(b"", &mut message).unwrap();
    let sealed = message;
    assert_eq!(opener.open(number, b"", &mut message, &[0; 16]), Err(Error(())));
    assert_eq!(opener.open(number, b"", &mut message, &tag), Ok(()));
    message = sealed;
    assert_eq!(opener.open(number, b"", &mut message, &[0; 16]), Err(Error(())));
    assert_eq!(opener.open(number, b"", &mut message, &tag), Err(Error(())));
    assert_eq!(message, sealed);
    assert_eq!(opener.numbered.cipher.key, [0; 32], "the key is wiped");
}

/// A forger who names the next number again and again costs one wide pass, not one each.
#[test]
fn forgeries_make_no_keystream_ahead_of_their_own() {
    let mut sealer = Sealer::new(&KEY, SEQUENCES[0]);
    let mut opener = Opener::new(&KEY, SEQUENCES[0]);
    assert_eq!(opener.open(0, b"", &mut [0; 10], &[0; 16]), Err(Error(())));
    assert_eq!(opener.ahead.made(), 0);
    let mut message = [7; 10];
    let (_, tag) = sealer.seal_next(b"", &mut message).unwrap();
    opener.open(0, b"", &mut message, &tag).unwrap();
    for number in [5, 2, 17, u64::MAX - 1] {
        assert_eq!(opener.open(number, b"", &mut [0; 10], &[0; 16]), Err(Error(())));
        assert_eq!(opener.ahead.made(), 0, "number {number} is not the next");
    }
}

#[test]
fn debug_shows_nothing_of_the_key() {
    let sealer = Sealer::resume(&KEY, SEQUENCES[1], 7);
    assert_eq!(std::format!("{sealer:?}"), "Sealer { next_number: 7, .. }");
    let opener = Opener::new(&KEY, SEQUENCES[1]);
    assert_eq!(std::format!("{opener:?}"), "Opener { refused: 0, .. }");
}

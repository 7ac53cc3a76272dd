//! Batches against one packet at a time.

use std::vec::Vec;
use std::{format, vec};

use super::*;
use crate::aead::XChaCha20Poly1305;
use crate::aead::tests::{Random, backends, painted};
use crate::cpu;

type Keyed<'a> = (&'a ChaCha20Poly1305, Packet<'a>);

/// Mostly short, as packets are.
fn some_len(random: &mut Random) -> usize {
    let bound = [16, 65, 65, 65, 129, 200, 300, 1400][random.below(8)];
    random.below(bound)
}

/// 10,000 batches for each backend, of all sizes, with one key and with several, one packet in five
/// forged.
#[test]
fn a_batch_is_its_packets_one_at_a_time() {
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let mut random = Random(3);
        let keys: [ChaCha20Poly1305; 5] =
            array::from_fn(|i| ChaCha20Poly1305::from_key(&[i as u8; 32]));
        let mut number = 0_u32;
        for _ in 0..10_000 {
            let bound = [4, 18, 18, 40][random.below(4)];
            let count = random.below(bound);
            let one_key = random.below(2) == 0;
            let messages: Vec<_> = (0..count).map(|_| painted(some_len(&mut random))).collect();
            let aads: Vec<_> = messages.iter().map(|message| painted(message.len() % 37)).collect();
            let mut buffers = messages.clone();
            let mut packets: Vec<Keyed<'_>> = Vec::new();
            for (i, (in_out, aad)) in buffers.iter_mut().zip(&aads).enumerate() {
                number += 1;
                let mut nonce = [7; 12];
                nonce[4..8].copy_from_slice(&number.to_le_bytes());
                let cipher = &keys[if one_key { 0 } else { i % 5 }];
                packets.push((cipher, Packet { nonce, aad, in_out, tag: [0; 16] }));
            }

            seal_both_ways(&mut packets, one_key);
            let mut sealed = Vec::new();
            for (i, (cipher, packet)) in packets.iter().enumerate() {
                let mut expected = messages[i].clone();
                let tag = cipher.seal_in_place(&packet.nonce, packet.aad, &mut expected).unwrap();
                let case = format!("{backend} packet {i} of {count}, {} bytes", expected.len());
                assert_eq!((&*packet.in_out, packet.tag), (&expected[..], tag), "{case}");
                sealed.push(expected);
            }

            let forged: Vec<bool> = (0..count).map(|_| random.below(5) == 0).collect();
            for ((_, packet), _) in packets.iter_mut().zip(&forged).filter(|(_, forged)| **forged) {
                packet.tag[random.below(16)] ^= 1 << random.below(8);
            }
            let ok = open_both_ways(&mut packets, one_key);
            for (i, (_, packet)) in packets.iter().enumerate() {
                let case = format!("{backend} packet {i} of {count}, {} bytes", sealed[i].len());
                assert_eq!(ok[i], !forged[i], "{case}");
                let left = if forged[i] { &sealed[i] } else { &messages[i] };
                assert_eq!(&*packet.in_out, &left[..], "{case}, forged {}", forged[i]);
            }
        }
    }
}

/// By the call for one key, if all have the first one's, or by that for several.
fn seal_both_ways(packets: &mut Vec<Keyed<'_>>, one_key: bool) {
    if !one_key {
        return seal_batch_keyed(packets).unwrap();
    }
    let Some((cipher, _)) = packets.first() else { return };
    let cipher = *cipher;
    let mut alone: Vec<_> = packets.drain(..).map(|(_, packet)| packet).collect();
    cipher.seal_batch(&mut alone).unwrap();
    packets.extend(alone.into_iter().map(|packet| (cipher, packet)));
}

/// As [`seal_both_ways`].
fn open_both_ways(packets: &mut Vec<Keyed<'_>>, one_key: bool) -> Vec<bool> {
    let mut ok = vec![true; packets.len()];
    let opened = match packets.first() {
        Some((cipher, _)) if one_key => {
            let cipher = *cipher;
            let mut alone: Vec<_> = packets.drain(..).map(|(_, packet)| packet).collect();
            let opened = cipher.open_batch(&mut alone, &mut ok).unwrap();
            packets.extend(alone.into_iter().map(|packet| (cipher, packet)));
            opened
        }
        _ => open_batch_keyed(packets, &mut ok).unwrap(),
    };
    assert_eq!(opened, ok.iter().filter(|ok| **ok).count());
    ok
}

/// Every length beside another, so that passes end everywhere in a packet.
#[test]
fn every_length_is_sealed_and_opened_in_a_batch() {
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let cipher = XChaCha20Poly1305::from_key(&[5; 32]);
        for lens in (0..=1100).collect::<Vec<_>>().chunks(29) {
            let mut buffers: Vec<_> = lens.iter().map(|len| painted(*len)).collect();
            let aads: Vec<_> = lens.iter().map(|len| painted(len % 293)).collect();
            let mut packets: Vec<Packet<'_, 24>> = (buffers.iter_mut().zip(&aads))
                .map(|(in_out, aad)| {
                    let nonce = array::from_fn(|i| (in_out.len() >> (i % 2 * 8)) as u8);
                    Packet { nonce, aad, in_out, tag: [0; 16] }
                })
                .collect();
            cipher.seal_batch(&mut packets).unwrap();
            for (packet, len) in packets.iter().zip(lens) {
                let sealed = cipher.seal(&packet.nonce, packet.aad, &painted(*len)).unwrap();
                let got = [&*packet.in_out, &packet.tag].concat();
                assert_eq!(got, sealed, "{backend} length {len}");
            }
            let mut ok = vec![false; lens.len()];
            assert_eq!(cipher.open_batch(&mut packets, &mut ok), Ok(lens.len()));
            for (packet, len) in packets.iter().zip(lens) {
                assert_eq!(*packet.in_out, painted(*len), "{backend} length {len}");
            }
        }
    }
}

#[test]
fn verdicts_of_the_wrong_number_are_an_error_and_nothing_is_written() {
    let cipher = ChaCha20Poly1305::from_key(&[1; 32]);
    let (mut a, mut b) = ([1; 40], [2; 40]);
    let packet = |in_out| Packet { nonce: [3; 12], aad: b"", in_out, tag: [0; 16] };
    let mut packets = [(&cipher, packet(&mut a[..])), (&cipher, packet(&mut b[..]))];
    seal_batch_keyed(&mut packets).unwrap();
    let sealed = packets.each_ref().map(|(_, packet)| packet.in_out.to_vec());
    for verdicts in [0, 1, 3] {
        let mut ok = vec![true; verdicts];
        assert_eq!(open_batch_keyed(&mut packets, &mut ok), Err(Error(())));
        let mut alone =
            packets.each_mut().map(|(_, packet)| Packet { in_out: &mut *packet.in_out, ..*packet });
        assert_eq!(cipher.open_batch(&mut alone, &mut ok), Err(Error(())));
        assert!(ok.iter().all(|ok| *ok), "{verdicts}");
        for ((_, packet), sealed) in packets.iter().zip(&sealed) {
            assert_eq!(*packet.in_out, **sealed, "{verdicts}");
        }
    }
    let mut ok = [false; 2];
    assert_eq!(open_batch_keyed(&mut packets, &mut ok), Ok(2));
}

#[test]
fn an_empty_batch_is_no_error() {
    let cipher = ChaCha20Poly1305::from_key(&[1; 32]);
    assert_eq!(cipher.seal_batch(&mut []), Ok(()));
    assert_eq!(cipher.open_batch(&mut [], &mut []), Ok(0));
    assert_eq!(seal_batch_keyed(&mut []), Ok(()));
    assert_eq!(open_batch_keyed(&mut [], &mut []), Ok(0));
}

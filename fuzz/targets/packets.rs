//! Batches and sequences give what one message at a time gives, and refuse the same.

#![no_main]

use arbitrary::Arbitrary;
use keyspring::aead::{
    ChaCha20Poly1305, NonceSequence, Opener, Packet, Sealer, open_batch_keyed, seal_batch_keyed,
};
use keyspring_fuzz::{on_every_backend, painted, sealed_in_two_passes};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    keys: [[u8; 32]; 2],
    mask: Option<[u8; 12]>,
    first: u64,
    packets: Vec<Described>,
}

#[derive(Arbitrary, Debug)]
struct Described {
    nonce: [u8; 12],
    second_key: bool,
    aad: u8,
    len: u16,
    /// A bit to change on the way, if there is one.
    changed: Option<u16>,
    skip: u8,
}

fuzz_target!(|input: Input| {
    let described: Vec<_> = input.packets.iter().take(40).collect();
    let aads: Vec<_> = described.iter().map(|d| painted(d.nonce[0], d.aad.into())).collect();
    let plaintexts: Vec<_> =
        described.iter().map(|d| painted(d.nonce[1], usize::from(d.len) % 2000)).collect();
    on_every_backend(|backend| {
        batch(backend, &input.keys, &described, &aads, &plaintexts);
        sequence(backend, &input, &described, &aads, &plaintexts);
    });
});

fn batch(
    backend: &str,
    keys: &[[u8; 32]; 2],
    described: &[&Described],
    aads: &[Vec<u8>],
    plaintexts: &[Vec<u8>],
) {
    let ciphers = keys.each_ref().map(ChaCha20Poly1305::from_key);
    let mut buffers = plaintexts.to_vec();
    let mut packets: Vec<_> = (described.iter().zip(aads).zip(&mut buffers))
        .map(|((d, aad), in_out)| {
            let packet = Packet { nonce: d.nonce, aad, in_out, tag: [0; 16] };
            (&ciphers[usize::from(d.second_key)], packet)
        })
        .collect();
    seal_batch_keyed(&mut packets).expect("no message is too long");
    for (i, (_, packet)) in packets.iter_mut().enumerate() {
        let d = described[i];
        let key = &keys[usize::from(d.second_key)];
        let mut expected = sealed_in_two_passes(key, &d.nonce, &aads[i], &plaintexts[i]);
        let tag = expected.split_off(plaintexts[i].len());
        assert_eq!(
            (&*packet.in_out, &packet.tag[..]),
            (&*expected, &*tag),
            "{backend}, packet {i}"
        );
        if let Some(bit) = d.changed {
            change(bit, packet.in_out, &mut packet.tag);
        }
    }
    let forged: Vec<_> = packets.iter().map(|(_, packet)| packet.in_out.to_vec()).collect();
    let mut ok = vec![false; packets.len()];
    let opened = open_batch_keyed(&mut packets, &mut ok).expect("as many verdicts as packets");
    assert_eq!(opened, ok.iter().filter(|ok| **ok).count());
    for (i, (_, packet)) in packets.iter().enumerate() {
        assert_eq!(ok[i], described[i].changed.is_none(), "{backend}, packet {i}");
        let expected = if ok[i] { &plaintexts[i] } else { &forged[i] };
        assert_eq!(&*packet.in_out, &**expected, "{backend}, packet {i}");
    }
}

fn sequence(
    backend: &str,
    input: &Input,
    described: &[&Described],
    aads: &[Vec<u8>],
    plaintexts: &[Vec<u8>],
) {
    let sequence = match input.mask {
        Some(mask) => NonceSequence::XorBigEndian(mask),
        None => NonceSequence::CounterLittleEndian,
    };
    let key = &input.keys[0];
    let mut sealer = Sealer::resume(key, sequence, input.first);
    let mut opener = Opener::new(key, sequence).reject_replays();
    for (i, d) in described.iter().enumerate() {
        let Some(next) = sealer.next_number().checked_add(d.skip.into()) else { return };
        if sealer.skip_to(next).is_err() {
            return;
        }
        let mut buffer = plaintexts[i].clone();
        let Ok((number, mut tag)) = sealer.seal_next(&aads[i], &mut buffer) else { return };
        assert_eq!(number, next, "{backend}, message {i}");
        let nonce = sequence.nonce(number);
        let mut expected = sealed_in_two_passes(key, &nonce, &aads[i], &plaintexts[i]);
        let right = expected.split_off(plaintexts[i].len());
        assert_eq!((&buffer, &tag[..]), (&expected, &*right), "{backend}, message {i}");
        if let Some(bit) = d.changed {
            change(bit, &mut buffer, &mut tag);
            let forged = buffer.clone();
            assert!(opener.open(number, &aads[i], &mut buffer, &tag).is_err(), "{backend}, {i}");
            assert_eq!(buffer, forged, "{backend}: a refused message was touched");
        } else {
            opener.open(number, &aads[i], &mut buffer, &tag).expect("it is genuine and new");
            assert_eq!(buffer, plaintexts[i], "{backend}, message {i}");
            assert!(opener.open(number, &aads[i], &mut buffer, &tag).is_err(), "{backend}: replay");
        }
    }
}

/// Changes a bit of a message or of its tag.
fn change(bit: u16, message: &mut [u8], tag: &mut [u8; 16]) {
    let (byte, bit) = (usize::from(bit) / 8 % (message.len() + 16), bit % 8);
    let byte = match message.get_mut(byte) {
        Some(byte) => byte,
        None => &mut tag[byte % 16],
    };
    *byte ^= 1 << bit;
}

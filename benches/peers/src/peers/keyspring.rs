//! Ours.

use core::hint::black_box;

use keyspring::{aead, chacha, crng, poly1305};

use super::{OURS, Peer, Source};
use crate::traits::{AAD, Aead, BATCH, ChaCha20, KEY, Packet, Poly1305, Random};

/// The library in this repository.
pub fn peer() -> Peer {
    Peer {
        version: super::locked_version("keyspring").into(),
        chacha20: Some(Box::new(Keyspring)),
        poly1305: Some(Box::new(Keyspring)),
        aead: Some(Box::new(Cipher::new(&KEY))),
        random: vec![Source {
            name: OURS,
            about: "ChaCha20, 20 rounds; keys erased before the call returns",
            random: Box::new(Keyspring),
        }],
        ..Peer::default()
    }
}

struct Keyspring;

impl ChaCha20 for Keyspring {
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]) {
        chacha::ChaCha20::from_key(&KEY, nonce).apply_keystream(data);
    }
}

impl Poly1305 for Keyspring {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        poly1305::mac(key, message)
    }
}

impl Random for Keyspring {
    fn fill(&mut self, dst: &mut [u8]) {
        crng::fill(dst);
    }

    fn u32(&mut self) -> Option<u32> {
        Some(crng::u32())
    }

    fn u64(&mut self) -> Option<u64> {
        Some(crng::u64())
    }

    fn key_32(&mut self) {
        black_box(crng::key::<32>().as_bytes());
    }

    fn key_256(&mut self) {
        black_box(crng::session_key().as_bytes());
    }
}

struct Cipher {
    alone: aead::ChaCha20Poly1305,
    sealer: aead::Sealer,
}

impl Cipher {
    fn new(key: &[u8; 32]) -> Self {
        let sequence = aead::NonceSequence::XorBigEndian([0x36; 12]);
        Self {
            alone: aead::ChaCha20Poly1305::from_key(key),
            sealer: aead::Sealer::new(key, sequence),
        }
    }
}

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.alone = aead::ChaCha20Poly1305::from_key(key);
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        self.alone.seal_in_place(nonce, aad, data).expect("the message is short enough")
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.alone.open_in_place(nonce, aad, data, tag).is_ok()
    }

    fn seal_batch(&mut self, packets: &mut [Packet; BATCH]) {
        let mut ours = ours(packets);
        self.alone.seal_batch(&mut ours).expect("the messages are short enough");
        let tags = ours.map(|packet| packet.tag);
        for (packet, tag) in packets.iter_mut().zip(tags) {
            packet.tag = tag;
        }
    }

    fn open_batch(&mut self, packets: &mut [Packet; BATCH]) -> bool {
        self.alone.open_batch(&mut ours(packets), &mut [false; BATCH]) == Ok(BATCH)
    }

    /// It counts for itself.
    fn seal_next(&mut self, _number: u64, data: &mut [u8]) -> [u8; 16] {
        self.sealer.seal_next(&AAD, data).expect("there are numbers left").1
    }
}

/// The packets as the library has them.
fn ours(packets: &mut [Packet; BATCH]) -> [aead::Packet<'_>; BATCH] {
    packets.each_mut().map(|Packet { nonce, data, tag }| aead::Packet {
        nonce: *nonce,
        aad: &AAD,
        in_out: data,
        tag: *tag,
    })
}

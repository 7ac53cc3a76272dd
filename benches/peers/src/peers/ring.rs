//! ring: its AEAD. It keeps the stream cipher and the authenticator to itself, and its random
//! bytes are the operating system's.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey};

use super::Peer;
use crate::traits::{Aead, KEY};

/// ring.
pub fn peer() -> Peer {
    Peer {
        version: super::locked_version("ring").into(),
        aead: Some(Box::new(Cipher(new_key(&KEY)))),
        ..Peer::default()
    }
}

fn new_key(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("32 bytes are a key"))
}

struct Cipher(LessSafeKey);

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.0 = new_key(key);
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(aad), data);
        tag.expect("the message is short enough").as_ref().try_into().expect("16 bytes")
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.0.open_in_place_separate_tag(nonce, Aad::from(aad), Tag::from(*tag), data, 0..).is_ok()
    }
}

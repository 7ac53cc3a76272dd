//! aws-lc-rs; the stream cipher and the bare authenticator, which it does not offer, through the
//! bindings that it stands on.

use core::mem::MaybeUninit;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::{Peer, Source};
use crate::traits::{Aead, ChaCha20, KEY, Poly1305, Random};

/// aws-lc-rs.
pub fn peer() -> Peer {
    Peer {
        version: super::locked_version("aws-lc-rs").into(),
        chacha20: Some(Box::new(AwsLc)),
        poly1305: Some(Box::new(AwsLc)),
        aead: Some(Box::new(Cipher(new_key(&KEY)))),
        random: vec![Source {
            name: "aws-lc RAND",
            about: "AES-256 CTR_DRBG; its key changes after each call",
            random: Box::new(AwsLc),
        }],
        ..Peer::default()
    }
}

fn new_key(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("32 bytes are a key"))
}

struct AwsLc;

impl ChaCha20 for AwsLc {
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]) {
        let (at, length) = (data.as_mut_ptr(), data.len());
        // SAFETY: in place is allowed; key and nonce have the lengths that ChaCha20 wants, by type.
        unsafe {
            aws_lc_sys::CRYPTO_chacha_20(at, at, length, KEY.as_ptr(), nonce.as_ptr(), 0);
        }
    }
}

impl Poly1305 for AwsLc {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        let mut state = MaybeUninit::uninit();
        let mut tag = [0; 16];
        // SAFETY: the first call makes the state that the other two read; key and tag have their
        // lengths by type.
        unsafe {
            aws_lc_sys::CRYPTO_poly1305_init(state.as_mut_ptr(), key.as_ptr());
            aws_lc_sys::CRYPTO_poly1305_update(state.as_mut_ptr(), message.as_ptr(), message.len());
            aws_lc_sys::CRYPTO_poly1305_finish(state.as_mut_ptr(), tag.as_mut_ptr());
        }
        tag
    }
}

impl Random for AwsLc {
    fn fill(&mut self, dst: &mut [u8]) {
        aws_lc_rs::rand::fill(dst).expect("the generator works");
    }
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
        self.0.open_in_place_separate_tag(nonce, Aad::from(aad), tag, data).is_ok()
    }
}

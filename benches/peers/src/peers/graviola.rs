//! graviola: its AEAD. The stream cipher and the authenticator are private; random bytes are the
//! operating system's.

use graviola::aead::ChaCha20Poly1305;

use super::Peer;
use crate::traits::{Aead, KEY};

/// graviola.
pub fn peer() -> Peer {
    if !graviola::util::is_cpu_supported() {
        return Peer { lacking: Some("graviola does not support this CPU"), ..Peer::default() };
    }
    Peer {
        version: super::locked_version("graviola").into(),
        aead: Some(Box::new(Cipher(ChaCha20Poly1305::new(KEY)))),
        ..Peer::default()
    }
}

struct Cipher(ChaCha20Poly1305);

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.0 = ChaCha20Poly1305::new(*key);
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        self.0.encrypt(nonce, aad, data, &mut tag);
        tag
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.0.decrypt(nonce, aad, data, tag).is_ok()
    }
}

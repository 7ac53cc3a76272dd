//! dryoc: its classic functions, which take plain arrays and allocate nothing. The stream cipher
//! is private; random bytes are the operating system's.

use dryoc::classic::crypto_aead_chacha20poly1305_ietf::{
    crypto_aead_chacha20poly1305_ietf_decrypt_detached_inplace as decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt_detached_inplace as encrypt,
};
use dryoc::classic::crypto_onetimeauth::crypto_onetimeauth;

use super::Peer;
use crate::traits::{Aead, KEY, Poly1305};

/// dryoc.
pub fn peer() -> Peer {
    Peer {
        version: super::locked_version("dryoc").into(),
        poly1305: Some(Box::new(Dryoc)),
        aead: Some(Box::new(Cipher(KEY))),
        ..Peer::default()
    }
}

struct Dryoc;

impl Poly1305 for Dryoc {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        crypto_onetimeauth(&mut tag, message, key);
        tag
    }
}

/// A key is the bare 32 bytes: there is nothing to set up.
struct Cipher([u8; 32]);

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.0 = *key;
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        encrypt(data, &mut tag, Some(aad), nonce, &self.0).expect("the message is short enough");
        tag
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        decrypt(data, tag, Some(aad), nonce, &self.0).is_ok()
    }
}

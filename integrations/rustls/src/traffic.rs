//! A traffic key: what records of TLS and packets of QUIC are sealed with.

use keyspring::aead::ChaCha20Poly1305;
use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv, Nonce};

/// The bytes of a key.
pub(crate) const KEY_LEN: usize = ChaCha20Poly1305::KEY_LEN;

/// The bytes of a tag.
pub(crate) const TAG_LEN: usize = ChaCha20Poly1305::TAG_LEN;

/// The cipher, and the nonce of number 0, into which a number is xored.
pub(crate) struct Traffic {
    cipher: ChaCha20Poly1305,
    pub(crate) iv: Iv,
}

impl Traffic {
    pub(crate) fn new(key: &AeadKey, iv: Iv) -> Self {
        Self { cipher: ChaCha20Poly1305::from_key(key_bytes(key)), iv }
    }

    /// The nonce of a record or packet.
    pub(crate) fn nonce(&self, number: u64) -> Nonce {
        Nonce::new(&self.iv, number)
    }

    /// Seals in place and returns the tag.
    pub(crate) fn seal(
        &self,
        nonce: &Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Error> {
        self.cipher.seal_in_place(&nonce.0, aad, in_out).map_err(|_| Error::EncryptError)
    }

    /// Opens in place what its tag follows, and returns how long the message in front is.
    pub(crate) fn open(
        &self,
        nonce: &Nonce,
        aad: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, Error> {
        let (message, tag) = sealed.split_last_chunk_mut().ok_or(Error::DecryptError)?;
        match self.cipher.open_in_place(&nonce.0, aad, message, tag) {
            Ok(()) => Ok(message.len()),
            Err(_) => Err(Error::DecryptError),
        }
    }
}

/// A key as an array.
pub(crate) fn key_bytes(key: &AeadKey) -> &[u8; KEY_LEN] {
    key.as_ref().try_into().expect("rustls hands over as many bytes as it was told")
}

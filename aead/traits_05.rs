//! The traits of the `aead` crate, 0.5, for what is not written against 0.6 yet.

use aead_05::consts::{U0, U12, U16, U24, U32};
use aead_05::{AeadCore, AeadInPlace, Key, KeyInit, KeySizeUser, Nonce, Tag};

use super::{ChaCha20Poly1305, Error, XChaCha20Poly1305};

impl From<Error> for aead_05::Error {
    fn from(_: Error) -> Self {
        Self
    }
}

macro_rules! traits {
    ($cipher:ident, $nonce_size:ty) => {
        impl KeySizeUser for $cipher {
            type KeySize = U32;
        }

        impl KeyInit for $cipher {
            fn new(key: &Key<Self>) -> Self {
                Self::from_key(key.as_ref())
            }
        }

        impl AeadCore for $cipher {
            type NonceSize = $nonce_size;
            type TagSize = U16;
            type CiphertextOverhead = U0;
        }

        impl AeadInPlace for $cipher {
            fn encrypt_in_place_detached(
                &self,
                nonce: &Nonce<Self>,
                associated_data: &[u8],
                buffer: &mut [u8],
            ) -> Result<Tag<Self>, aead_05::Error> {
                Ok(self.seal_in_place(nonce.as_ref(), associated_data, buffer)?.into())
            }

            /// A refused message leaves the buffer as it was.
            fn decrypt_in_place_detached(
                &self,
                nonce: &Nonce<Self>,
                associated_data: &[u8],
                buffer: &mut [u8],
                tag: &Tag<Self>,
            ) -> Result<(), aead_05::Error> {
                Ok(self.open_in_place(nonce.as_ref(), associated_data, buffer, tag.as_ref())?)
            }
        }
    };
}

traits!(ChaCha20Poly1305, U12);
traits!(XChaCha20Poly1305, U24);

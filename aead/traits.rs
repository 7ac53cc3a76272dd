//! The traits of the `aead` crate, 0.6, so that code written against them, or against the
//! `chacha20poly1305` crate, works unchanged.

use aead_traits::array::Array;
use aead_traits::consts::{U12, U16, U24, U32};
use aead_traits::{AeadCore, AeadInOut, KeyInit, KeySizeUser, TagPosition};
use inout::InOutBuf;

use super::{ChaCha20Poly1305, XChaCha20Poly1305};
use crate::chacha::data::Apart;
use crate::chacha::inout::Buffer;

/// A key, as the traits have it.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{ChaCha20Poly1305, Key, KeyInit};
///
/// let cipher = ChaCha20Poly1305::new(&Key::from([7; 32]));
/// ```
pub type Key = Array<u8, U32>;

/// A 96-bit nonce, as the traits have it.
///
/// # Examples
///
/// ```
/// use keyspring::aead::aead::Aead;
/// use keyspring::aead::{ChaCha20Poly1305, Nonce};
///
/// let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
/// let sealed = cipher.encrypt(&Nonce::from([1; 12]), &b"attack at dawn"[..])?;
/// # Ok::<(), keyspring::aead::aead::Error>(())
/// ```
pub type Nonce = Array<u8, U12>;

/// A 192-bit nonce, as the traits have it.
///
/// # Examples
///
/// ```
/// use keyspring::aead::aead::Aead;
/// use keyspring::aead::{XChaCha20Poly1305, XNonce};
///
/// let cipher = XChaCha20Poly1305::from_key(&[7; 32]);
/// let sealed = cipher.encrypt(&XNonce::from([1; 24]), &b"attack at dawn"[..])?;
/// # Ok::<(), keyspring::aead::aead::Error>(())
/// ```
pub type XNonce = Array<u8, U24>;

/// A tag, as the traits have it.
///
/// # Examples
///
/// ```
/// use keyspring::aead::aead::AeadInOut;
/// use keyspring::aead::{ChaCha20Poly1305, Nonce, Tag};
///
/// let (cipher, mut message) = (ChaCha20Poly1305::from_key(&[7; 32]), *b"attack at dawn");
/// let nonce = Nonce::from([1; 12]);
/// let tag: Tag = cipher.encrypt_inout_detached(&nonce, b"", message.as_mut_slice().into())?;
/// # Ok::<(), keyspring::aead::aead::Error>(())
/// ```
pub type Tag = Array<u8, U16>;

macro_rules! traits {
    ($cipher:ident, $nonce_size:ty) => {
        impl KeySizeUser for $cipher {
            type KeySize = U32;
        }

        impl KeyInit for $cipher {
            fn new(key: &Key) -> Self {
                Self::from_key(&key.0)
            }
        }

        impl AeadCore for $cipher {
            type NonceSize = $nonce_size;
            type TagSize = U16;
            const TAG_POSITION: TagPosition = TagPosition::Postfix;
        }

        impl AeadInOut for $cipher {
            fn encrypt_inout_detached(
                &self,
                nonce: &aead_traits::Nonce<Self>,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
            ) -> Result<Tag, aead_traits::Error> {
                let tag = match buffer.into() {
                    Buffer::InPlace(message) => {
                        self.seal_message(&nonce.0, associated_data, message)
                    }
                    Buffer::Apart(plaintext, out) => {
                        self.seal_message(&nonce.0, associated_data, Apart::new(plaintext, out))
                    }
                };
                Ok(Array(tag?))
            }

            /// A refused message leaves a buffer in place as it was; an output apart is all zero.
            fn decrypt_inout_detached(
                &self,
                nonce: &aead_traits::Nonce<Self>,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
                tag: &Tag,
            ) -> Result<(), aead_traits::Error> {
                match buffer.into() {
                    Buffer::InPlace(message) => {
                        self.open_message(&nonce.0, associated_data, message, &tag.0)?;
                    }
                    Buffer::Apart(ciphertext, out) => {
                        self.open_apart(&nonce.0, associated_data, ciphertext, out, &tag.0)?;
                    }
                }
                Ok(())
            }
        }
    };
}

traits!(ChaCha20Poly1305, U12);
traits!(XChaCha20Poly1305, U24);

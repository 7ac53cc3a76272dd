//! The one error of sealing and opening.

use core::fmt;

/// A message that could not be sealed or opened.
///
/// Opening fails if the tag does not belong to the key, the nonce, the AAD and the ciphertext;
/// sealing and opening fail if a buffer has the wrong length or a message is longer than
/// `MAX_LEN`. Which of them it was is not told: an attacker who learns more than "refused" is one
/// step further (Vaudenay, 2002).
///
/// # Examples
///
/// ```
/// use keyspring::aead::ChaCha20Poly1305;
///
/// let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
/// let error = cipher.open_in_place(&[1; 12], b"", &mut [0; 5], &[0; 16]).unwrap_err();
/// assert_eq!(error.to_string(), "the message was refused");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub(super) ());

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message was refused")
    }
}

impl core::error::Error for Error {}

#[cfg(feature = "aead")]
impl From<Error> for aead_traits::Error {
    fn from(_: Error) -> Self {
        Self
    }
}

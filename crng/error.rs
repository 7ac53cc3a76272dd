//! What can go wrong with entropy and keys.

use core::fmt;

/// No random bytes, or no key: the reason is one of the constants.
///
/// # Examples
///
/// ```
/// use keyspring::crng::{Error, SessionKey};
///
/// assert_eq!(SessionKey::<32>::try_from(&[1; 31][..]).unwrap_err(), Error::LENGTH);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(Reason);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Source,
    Weak,
    Length,
}

impl Error {
    /// The entropy source failed. Sources written outside this crate return this.
    pub const SOURCE: Self = Self(Reason::Source);

    /// The entropy source gave 32 equal bytes: it is broken, and nothing is made of it.
    pub const WEAK: Self = Self(Reason::Weak);

    /// A key was to be made of bytes of another length.
    pub const LENGTH: Self = Self(Reason::Length);
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Reason::Source => "the entropy source failed",
            Reason::Weak => "the entropy source repeats itself",
            Reason::Length => "the bytes have another length than the key",
        })
    }
}

impl core::error::Error for Error {}

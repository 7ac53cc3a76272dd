//! Keys that are wiped.

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Error;

/// A secret key of `N` bytes, 256 if nothing else is said.
///
/// It is wiped on drop, compared in constant time, and neither printed nor copied.
///
/// # Security
///
/// To move a value in Rust copies its bytes and leaves the old place as it was: keep a key where it
/// was minted, and pass it by reference.
///
/// # Examples
///
/// ```
/// # #[cfg(all(feature = "std", feature = "getrandom"))] {
/// use keyspring::crng::{self, SessionKey};
///
/// let key = crng::session_key();
/// // Two keys for encryption and two for authentication, and so on.
/// let parts: Vec<SessionKey<32>> = key.split().collect();
/// assert_eq!(parts.len(), 8);
/// # }
/// ```
#[repr(transparent)]
pub struct SessionKey<const N: usize = 256>([u8; N]);

impl<const N: usize> SessionKey<N> {
    /// A key of zeros: a place to mint one in.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::crng::SessionKey;
    ///
    /// let mut keys = [const { SessionKey::<32>::zeroed() }; 8];
    /// # #[cfg(all(feature = "std", feature = "getrandom"))]
    /// keyspring::crng::fill_keys(&mut keys);
    /// ```
    #[must_use]
    pub const fn zeroed() -> Self {
        Self([0; N])
    }

    /// The bytes of the key.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::ChaCha20Poly1305;
    /// use keyspring::crng::SessionKey;
    ///
    /// let key = SessionKey::from([7; 32]);
    /// let cipher = ChaCha20Poly1305::from_key(key.as_bytes());
    /// ```
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// The place to mint a key in.
    pub(super) fn as_mut_bytes(&mut self) -> &mut [u8; N] {
        &mut self.0
    }

    /// The place to mint many keys in.
    pub(super) fn as_mut_bytes_of_all(keys: &mut [Self]) -> &mut [u8] {
        let arrays = core::ptr::from_mut(keys) as *mut [[u8; N]];
        // SAFETY: a key lies as its bytes do, by `repr(transparent)`, and any bytes are a key.
        unsafe { &mut *arrays }.as_flattened_mut()
    }

    /// Splits the key into keys of `M` bytes, in order; `N` must be a multiple of `M`, which the
    /// compiler checks. The whole is wiped when the iterator is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::crng::SessionKey;
    ///
    /// let halves: Vec<_> = SessionKey::from([7; 64]).split::<32>().collect();
    /// assert_eq!(halves.len(), 2);
    /// ```
    #[must_use]
    pub fn split<const M: usize>(self) -> Split<N, M> {
        const { assert!(M > 0 && N.is_multiple_of(M), "a key splits into equal parts only") };
        Split { whole: self, at: 0 }
    }
}

impl<const N: usize> From<[u8; N]> for SessionKey<N> {
    /// Takes the bytes over; the array they come from is not wiped.
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> TryFrom<&[u8]> for SessionKey<N> {
    type Error = Error;

    /// # Errors
    ///
    /// [`Error::LENGTH`] if there are not exactly `N` bytes.
    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        bytes.try_into().map(Self).map_err(|_| Error::LENGTH)
    }
}

impl<const N: usize> AsRef<[u8]> for SessionKey<N> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl<const N: usize> ConstantTimeEq for SessionKey<N> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.as_slice().ct_eq(&other.0)
    }
}

/// In constant time.
impl<const N: usize> PartialEq for SessionKey<N> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl<const N: usize> Eq for SessionKey<N> {}

impl<const N: usize> fmt::Debug for SessionKey<N> {
    /// Shows the length alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey<{N}>(..)")
    }
}

impl<const N: usize> Zeroize for SessionKey<N> {
    fn zeroize(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

impl<const N: usize> Drop for SessionKey<N> {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl<const N: usize> ZeroizeOnDrop for SessionKey<N> {}

/// The parts of a [`SessionKey`], by [`SessionKey::split`].
///
/// # Examples
///
/// ```
/// use keyspring::crng::SessionKey;
///
/// let mut parts = SessionKey::from([7; 64]).split::<32>();
/// let (sending, receiving) = (parts.next(), parts.next());
/// assert_eq!((sending.is_some(), receiving.is_some(), parts.next().is_some()), (true, true, false));
/// ```
#[derive(Debug)]
pub struct Split<const N: usize, const M: usize> {
    whole: SessionKey<N>,
    at: usize,
}

impl<const N: usize, const M: usize> Iterator for Split<N, M> {
    type Item = SessionKey<M>;

    fn next(&mut self) -> Option<SessionKey<M>> {
        let part = self.whole.0[self.at..].first_chunk_mut::<M>()?;
        let key = SessionKey(*part);
        part.as_mut_slice().zeroize();
        self.at += M;
        Some(key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (N - self.at) / M;
        (left, Some(left))
    }
}

impl<const N: usize, const M: usize> ExactSizeIterator for Split<N, M> {}

#[cfg(test)]
mod tests {
    use std::format;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn split_gives_every_byte_once_in_order_and_wipes_the_whole() {
        let bytes: [u8; 64] = core::array::from_fn(|i| i as u8);
        let mut parts = SessionKey::from(bytes).split::<16>();
        assert_eq!(parts.len(), 4);
        assert_eq!(parts.next().unwrap().as_bytes(), &bytes[..16]);
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.whole.0[..16], [0; 16]);
        let rest: Vec<u8> = parts.flat_map(|part| *part.as_bytes()).collect();
        assert_eq!(rest, bytes[16..]);
    }

    #[test]
    fn only_the_exact_length_becomes_a_key() {
        for len in [0, 31, 33] {
            let bytes = [1; 33];
            assert_eq!(SessionKey::<32>::try_from(&bytes[..len]), Err(Error::LENGTH));
        }
        assert_eq!(SessionKey::<32>::try_from(&[1; 32][..]), Ok(SessionKey::from([1; 32])));
    }

    #[test]
    fn debug_tells_nothing_but_the_length() {
        assert_eq!(format!("{:?}", SessionKey::from([0x5a; 32])), "SessionKey<32>(..)");
    }

    #[test]
    fn keys_that_differ_in_one_bit_are_not_equal() {
        let mut bytes = [3; 32];
        let key = SessionKey::from(bytes);
        for i in 0..256 {
            bytes[i / 8] ^= 1 << (i % 8);
            assert_ne!(key, SessionKey::from(bytes), "bit {i}");
            bytes[i / 8] ^= 1 << (i % 8);
        }
        assert_eq!(key, SessionKey::from(bytes));
    }

    #[test]
    fn zeroize_leaves_zeros() {
        let mut key = SessionKey::from([9; 32]);
        key.zeroize();
        assert_eq!(key.as_bytes(), &[0; 32]);
    }
}

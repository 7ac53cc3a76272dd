//! Messages in sequence: who owns the numbers can't use one twice, and can make keystream ahead.
//!
//! ```text
//! number     n                n + 1            n + 2            ...
//! keystream  | key | block 1  | key | block 1  | key | block 1  | ...       one wide pass
//! ```
//!
//! 1. A number is spent before its keystream is used.
//! 2. Keystream ahead is wiped when it is used or skipped, and when its owner is dropped.

mod ahead;
mod opener;
mod sealer;
mod window;

use zeroize::Zeroize;

pub use self::opener::Opener;
pub use self::sealer::Sealer;
use super::ChaCha20Poly1305;
use super::whole::Whole;

/// How the number of a message becomes its nonce.
///
/// # Examples
///
/// ```
/// use keyspring::aead::NonceSequence;
///
/// let wireguard = NonceSequence::CounterLittleEndian;
/// assert_eq!(wireguard.nonce(0x0102), [0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
/// let tls = NonceSequence::XorBigEndian([0x10; 12]);
/// assert_eq!(tls.nonce(0x0102)[9..], [0x10, 0x11, 0x12]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonceSequence {
    /// A start value, its last eight bytes xored with the number, most significant byte first: TLS 1.3 (RFC 8446, section 5.3), QUIC (RFC 9001, section 5.3).
    XorBigEndian([u8; 12]),
    /// Four zero bytes, then the number, least significant byte first: WireGuard, Noise.
    CounterLittleEndian,
}

impl NonceSequence {
    /// The nonce of message `number`.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::NonceSequence;
    ///
    /// let nonce = NonceSequence::CounterLittleEndian.nonce(5);
    /// assert_eq!(nonce, [0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    /// ```
    #[must_use]
    #[inline]
    pub fn nonce(&self, number: u64) -> [u8; 12] {
        let mut nonce = [0; 12];
        match self {
            Self::XorBigEndian(start) => {
                nonce = *start;
                for (byte, mask) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
                    *byte ^= mask;
                }
            }
            Self::CounterLittleEndian => nonce[4..].copy_from_slice(&number.to_le_bytes()),
        }
        nonce
    }
}

/// The number that no message has: what comes next when all are spent.
const EXHAUSTED: u64 = u64::MAX;

/// A key and how its messages are numbered.
struct Numbered {
    cipher: ChaCha20Poly1305,
    sequence: NonceSequence,
}

impl Numbered {
    fn new(key: &[u8; 32], sequence: NonceSequence) -> Self {
        Self { cipher: ChaCha20Poly1305::from_key(key), sequence }
    }

    fn whole(&self, number: u64) -> Whole {
        self.cipher.under(&self.sequence.nonce(number))
    }

    /// Wipes the key: whatever is sealed or opened from here on would be under a key of zeros, so nobody may.
    fn wipe(&mut self) {
        self.cipher.key.as_mut_slice().zeroize();
    }
}

#[cfg(all(test, feature = "force-backend"))]
mod tests;

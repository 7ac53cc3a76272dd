//! The receiving end.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use super::ahead::Ahead;
use super::window::Window;
use super::{EXHAUSTED, NonceSequence, Numbered};
use crate::aead::{Error, framing};
use crate::chacha::data::InPlace;

/// The forgeries that are tried under one key at the most: what QUIC allows for ChaCha20-Poly1305
/// (RFC 9001, section 6.6).
pub(super) const MOST_REFUSED: u64 = 1 << 36;

/// Opens what a [`Sealer`](super::Sealer) sealed, by the numbers of the messages, in any order.
///
/// Short messages that come in order are opened with keystream that is made ahead.
///
/// # Security
///
/// - A message is opened as often as it comes, unless the Opener was told to
///   [`reject_replays`](Self::reject_replays).
/// - After 2^36 messages that were refused for their tags, everything is refused, since each was a
///   chance to forge.
/// - An Opener that is copied by a fork works in both processes, and neither knows what the other has
///   seen.
///
/// The key and the keystream ahead are wiped on drop, and keystream when it is used.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{NonceSequence, Opener, Sealer};
///
/// let (key, sequence) = ([7; 32], NonceSequence::CounterLittleEndian);
/// let (mut sealer, mut opener) = (Sealer::new(&key, sequence), Opener::new(&key, sequence));
/// let (mut lost, mut message) = (*b"first", *b"second");
/// sealer.seal_next(b"", &mut lost)?;
/// let (number, tag) = sealer.seal_next(b"", &mut message)?;
/// opener.open(number, b"", &mut message, &tag)?;
/// assert_eq!(&message, b"second");
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
pub struct Opener {
    pub(super) numbered: Numbered,
    /// After the highest number that was genuine.
    next: u64,
    pub(super) ahead: Ahead,
    pub(super) refused: u64,
    window: Option<Window>,
}

impl Opener {
    /// Opens messages of this key and this sequence.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Opener};
    ///
    /// // The other end of a TLS 1.3 connection: a key and a start value for each direction.
    /// let opener = Opener::new(&[7; 32], NonceSequence::XorBigEndian([9; 12]));
    /// ```
    #[must_use]
    pub fn new(key: &[u8; 32], sequence: NonceSequence) -> Self {
        let numbered = Numbered::new(key, sequence);
        Self { numbered, next: 0, ahead: Ahead::new(), refused: 0, window: None }
    }

    /// Refuses a message that has been opened before, and one whose number is 1984 or more below the
    /// highest that was genuine (RFC 6479).
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Opener, Sealer};
    ///
    /// let (key, sequence) = ([7; 32], NonceSequence::CounterLittleEndian);
    /// let mut opener = Opener::new(&key, sequence).reject_replays();
    /// let (number, tag) = Sealer::new(&key, sequence).seal_next(b"once", &mut [])?;
    /// assert!(opener.open(number, b"once", &mut [], &tag).is_ok());
    /// assert!(opener.open(number, b"once", &mut [], &tag).is_err());
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    #[must_use]
    pub fn reject_replays(mut self) -> Self {
        self.window.get_or_insert_with(Window::new);
        self
    }

    /// Opens a message in place. `in_out` holds the ciphertext on entry and the message on exit.
    ///
    /// # Errors
    ///
    /// [`Error`] if the message is refused: `in_out` is as it was, still the ciphertext.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Opener, Sealer};
    ///
    /// let (key, sequence) = ([7; 32], NonceSequence::CounterLittleEndian);
    /// let mut message = *b"attack at dawn";
    /// let (number, tag) = Sealer::new(&key, sequence).seal_next(b"to: north", &mut message)?;
    /// Opener::new(&key, sequence).open(number, b"to: north", &mut message, &tag)?;
    /// assert_eq!(&message, b"attack at dawn");
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    pub fn open(
        &mut self,
        number: u64,
        aad: &[u8],
        in_out: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        framing::check(in_out.len())?;
        let Self { numbered, next, ahead, refused, window } = self;
        let seen = window.as_ref().is_some_and(|window| !window.is_fresh(number));
        if seen || number == EXHAUSTED || *refused == MOST_REFUSED {
            return Err(Error(()));
        }
        let len = in_out.len();
        if number == *next {
            ahead.make(numbered, number, len);
        }
        let message = InPlace(in_out);
        let right = match ahead.get(number, len) {
            Some((block, keystream)) => {
                numbered.cipher.cores.open_with(block, keystream, aad, message, tag)
            }
            None => numbered.whole(number).open(aad, message, tag),
        };
        if !right {
            *refused += 1;
            if *refused == MOST_REFUSED {
                numbered.wipe();
                ahead.wipe();
            }
            return Err(Error(()));
        }
        // Only what was authenticated moves anything.
        ahead.done(number, len);
        *next = (*next).max(number + 1);
        if let Some(window) = window {
            window.mark(number);
        }
        Ok(())
    }
}

impl fmt::Debug for Opener {
    /// Shows how many messages were refused alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for Opener {}

//! The sending end.

use core::fmt;

use zeroize::ZeroizeOnDrop;

use super::ahead::Ahead;
use super::{EXHAUSTED, NonceSequence, Numbered};
use crate::aead::{Error, Packet, framing};
use crate::chacha::data::InPlace;
use crate::fork::{self, Stamp};

/// Seals messages one after the other under ChaCha20-Poly1305, and counts their nonces itself.
///
/// Short messages are sealed with keystream that is made ahead, several messages to a pass: up to 64
/// and up to 192 bytes, from the third of them in a row on at the latest.
///
/// # Security
///
/// - A number is never used twice: it can't be set back, and it is spent before anything is
///   encrypted.
/// - After a fork, both processes hold the sequence. On Linux 4.14 and later with the feature `std`,
///   the Sealer in the child notices it at its next call, wipes itself and gives an error for good;
///   the parent goes on. Elsewhere a child must not use it.
/// - A snapshot that is restored (a virtual machine, CRIU) holds numbers that have been used. After
///   that, and after a restart, a new key is needed, or [`resume`](Self::resume) with a number that
///   was surely never reached.
/// - A receiver must know the number: it travels with the message, or follows from the order.
///
/// The key and the keystream ahead are wiped on drop, and keystream when it is used or skipped.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{NonceSequence, Opener, Sealer};
///
/// let (key, sequence) = ([7; 32], NonceSequence::XorBigEndian([1; 12]));
/// let mut sealer = Sealer::new(&key, sequence);
/// let mut opener = Opener::new(&key, sequence);
///
/// let mut message = *b"attack at dawn";
/// let (number, tag) = sealer.seal_next(b"to: north", &mut message)?;
/// opener.open(number, b"to: north", &mut message, &tag)?;
/// assert_eq!(&message, b"attack at dawn");
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
pub struct Sealer {
    numbered: Numbered,
    next: u64,
    /// The process that the sequence belongs to.
    stamp: Stamp,
    pub(super) ahead: Ahead,
}

impl Sealer {
    /// Starts a sequence at number 0.
    ///
    /// # Security
    ///
    /// The key must be fresh: no other Sealer, and nobody else, may seal under it with nonces of
    /// this sequence.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Sealer};
    ///
    /// let sealer = Sealer::new(&[7; 32], NonceSequence::CounterLittleEndian);
    /// assert_eq!(sealer.next_number(), 0);
    /// ```
    #[must_use]
    pub fn new(key: &[u8; 32], sequence: NonceSequence) -> Self {
        Self::resume(key, sequence, 0)
    }

    /// Goes on with a sequence at number `next`, for a caller who keeps the number where a crash
    /// can't take it.
    ///
    /// # Security
    ///
    /// `next` and all that follow must never have been used under this key: store a number well
    /// ahead before the ones below it are used, and resume from there.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Sealer};
    ///
    /// let mut sealer = Sealer::resume(&[7; 32], NonceSequence::CounterLittleEndian, 1000);
    /// assert_eq!(sealer.seal_next(b"", &mut [])?.0, 1000);
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    #[must_use]
    pub fn resume(key: &[u8; 32], sequence: NonceSequence, next: u64) -> Self {
        let stamp = fork::stamp();
        Self { numbered: Numbered::new(key, sequence), next, stamp, ahead: Ahead::new() }
    }

    /// The number of the next message; 2^64 - 1, which no message has, if all are spent.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Sealer};
    ///
    /// let mut sealer = Sealer::new(&[7; 32], NonceSequence::CounterLittleEndian);
    /// sealer.seal_next(b"", &mut [])?;
    /// assert_eq!(sealer.next_number(), 1);
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Leaves out the numbers before `number`.
    ///
    /// # Errors
    ///
    /// [`Error`] if `number` is below [`next_number`](Self::next_number), or this process is a fork
    /// of the one that made the Sealer.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Sealer};
    ///
    /// let mut sealer = Sealer::new(&[7; 32], NonceSequence::CounterLittleEndian);
    /// sealer.skip_to(5)?;
    /// assert_eq!(sealer.seal_next(b"", &mut [])?.0, 5);
    /// assert!(sealer.skip_to(5).is_err());
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    pub fn skip_to(&mut self, number: u64) -> Result<(), Error> {
        self.check_process()?;
        if number < self.next {
            return Err(Error(()));
        }
        if number > self.next {
            self.ahead.wipe();
        }
        self.next = number;
        Ok(())
    }

    /// Seals the next message in place and returns its number and its tag. `in_out` holds the
    /// message on entry and the ciphertext on exit.
    ///
    /// # Errors
    ///
    /// [`Error`] if all numbers are spent, this process is a fork of the one that made the Sealer,
    /// or the message is longer than 2^38 - 64 bytes; nothing is written and no number is spent.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Sealer};
    ///
    /// let mut message = *b"attack at dawn";
    /// let mut sealer = Sealer::new(&[7; 32], NonceSequence::CounterLittleEndian);
    /// let (number, tag) = sealer.seal_next(b"to: north", &mut message)?;
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    pub fn seal_next(&mut self, aad: &[u8], in_out: &mut [u8]) -> Result<(u64, [u8; 16]), Error> {
        framing::check(in_out.len())?;
        let number = self.spend(1)?;
        let len = in_out.len();
        let Self { numbered, ahead, .. } = self;
        ahead.make(numbered, number, len);
        let message = InPlace(in_out);
        let tag = match ahead.get(number, len) {
            Some((block, keystream)) => {
                numbered.cipher.cores.seal_with(block, keystream, aad, message)
            }
            None => numbered.whole(number).seal(aad, message),
        };
        ahead.done(number, len);
        Ok((number, tag))
    }

    /// Seals packets in place under the next numbers, as [`seal_batch`] does, and returns the first
    /// number. The nonce of each packet is written, whatever it held.
    ///
    /// # Errors
    ///
    /// [`Error`] if fewer numbers are left than packets, this process is a fork of the one that made
    /// the Sealer, or a message is longer than 2^38 - 64 bytes; nothing is written and no number is
    /// spent.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::aead::{NonceSequence, Packet, Sealer};
    ///
    /// let mut sealer = Sealer::new(&[7; 32], NonceSequence::CounterLittleEndian);
    /// let (mut hello, mut world) = (*b"hello", *b"world");
    /// let mut packets = [
    ///     Packet { nonce: [0; 12], aad: b"", in_out: &mut hello, tag: [0; 16] },
    ///     Packet { nonce: [0; 12], aad: b"", in_out: &mut world, tag: [0; 16] },
    /// ];
    /// assert_eq!(sealer.seal_next_batch(&mut packets)?, 0);
    /// assert_eq!(sealer.next_number(), 2);
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    ///
    /// [`seal_batch`]: crate::aead::ChaCha20Poly1305::seal_batch
    pub fn seal_next_batch(&mut self, packets: &mut [Packet<'_>]) -> Result<u64, Error> {
        packets.iter().try_for_each(|packet| framing::check(packet.in_out.len()))?;
        let first = self.spend(packets.len())?;
        self.ahead.wipe();
        for (packet, number) in packets.iter_mut().zip(first..) {
            packet.nonce = self.numbered.sequence.nonce(number);
        }
        self.numbered.cipher.seal_batch(packets)?;
        Ok(first)
    }

    /// Spends so many numbers and returns the first.
    fn spend(&mut self, count: usize) -> Result<u64, Error> {
        self.check_process()?;
        let number = self.next;
        if number == EXHAUSTED {
            return Err(Error(()));
        }
        self.next = number.checked_add(count as u64).ok_or(Error(()))?;
        Ok(number)
    }

    /// Wipes everything if this is a fork of the process that the sequence belongs to.
    fn check_process(&mut self) -> Result<(), Error> {
        if fork::stamp() == self.stamp {
            return Ok(());
        }
        self.next = EXHAUSTED;
        self.numbered.wipe();
        self.ahead.wipe();
        Err(Error(()))
    }
}

impl fmt::Debug for Sealer {
    /// Shows the next number alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("next_number", &self.next).finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for Sealer {}

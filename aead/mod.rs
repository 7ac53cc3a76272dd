//! ChaCha20-Poly1305 (RFC 8439, section 2.8) and XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03):
//! authenticated encryption with associated data.
//!
//! | to seal | call |
//! |---|---|
//! | in place, tag apart | [`seal_in_place`](ChaCha20Poly1305::seal_in_place) |
//! | from one buffer into another | [`seal_into`](ChaCha20Poly1305::seal_into) |
//! | from several pieces into one buffer | [`seal_gather`](ChaCha20Poly1305::seal_gather) |
//! | into a new `Vec` | [`seal`](ChaCha20Poly1305::seal) |
//! | many packets at once | [`seal_batch`](ChaCha20Poly1305::seal_batch), [`seal_batch_keyed`] |
//! | in sequence, the nonces counted for you | [`Sealer`] |
//! | under nonces drawn for you | [`XChaCha20Poly1305::seal_with_random_nonce`] |
//!
//! The feature `aead` adds the traits of the `aead` crate, 0.6, and its names as the
//! `chacha20poly1305` crate re-exports them; `aead_05` adds the traits of 0.5, as `aead_05`:
//!
//! ```
//! # #[cfg(feature = "aead_05")] {
//! use keyspring::aead::aead_05::{AeadInPlace, Error, Nonce};
//! use keyspring::aead::{ChaCha20Poly1305, XChaCha20Poly1305};
//!
//! fn seal<C: AeadInPlace>(cipher: &C, message: &mut [u8]) -> Result<(), Error> {
//!     cipher.encrypt_in_place_detached(&Nonce::<C>::default(), b"", message).map(|_tag| ())
//! }
//! seal(&ChaCha20Poly1305::from_key(&[7; 32]), &mut [0; 100])?;
//! seal(&XChaCha20Poly1305::from_key(&[7; 32]), &mut [0; 100])?;
//! # }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! What always holds: the tag is checked first, and no plaintext is computed for a message that is
//! refused.
//!
//! # Security
//!
//! - A nonce must never be used twice under one key. Who sees two messages under one nonce has the
//!   xor of both and can forge others. 96 bits are too few to draw them at random for long: count,
//!   or take [`XChaCha20Poly1305`].
//! - The tag has 128 bits; a forgery of L bytes of message and AAD succeeds with probability at most
//!   8 ceil(L / 16) / 2^106 (Bernstein, 2005).
//! - Neither cipher commits to its key: a ciphertext can be made that opens under two keys. Where a
//!   receiver tries keys that an attacker may choose, among them passwords, this tells which one
//!   fits (Len, Grubbs, Ristenpart, "Partitioning Oracle Attacks", 2021).
//! - The lengths of message and AAD are not hidden.
//! - Buffers must be the caller's alone while a call runs: sealing reads its output again, and
//!   opening reads the ciphertext twice. No memory that another process may write to.
//!
//! Keys, Poly1305 keys and the keystream that leaves the registers are wiped.
#![doc = include_str!("DESIGN.md")]

pub(crate) mod backend;
mod batch;
mod error;
mod framing;
#[cfg(all(target_pointer_width = "64", any(target_arch = "x86_64", target_feature = "neon")))]
mod fused;
mod sequence;
mod stepwise;
#[cfg(feature = "aead")]
mod traits;
#[cfg(feature = "aead_05")]
mod traits_05;
mod whole;

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

#[cfg(feature = "aead_05")]
pub use aead_05;
#[cfg(feature = "aead")]
pub use aead_traits::{self as aead, AeadCore, AeadInOut, KeyInit, KeySizeUser, consts};

pub use self::batch::{Packet, open_batch_keyed, seal_batch_keyed};
pub use self::error::Error;
pub use self::sequence::{NonceSequence, Opener, Sealer};
pub use self::stepwise::{Opening, Sealing, Step};
#[cfg(feature = "aead")]
pub use self::traits::{Key, Nonce, Tag, XNonce};
use self::whole::{Cores, Whole};
use crate::chacha;
use crate::chacha::data::{Apart, InPlace, Message};
use crate::poly1305;

macro_rules! cipher {
    ($(#[doc = $doc:expr])* $name:ident, $nonce_len:literal) => {
        $(#[doc = $doc])*
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use keyspring::aead::", stringify!($name), ";")]
        ///
        #[doc = concat!("let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
        #[doc = concat!("let nonce = [1; ", stringify!($nonce_len), "]; // never the same twice")]
        /// let mut message = *b"attack at dawn";
        /// let tag = cipher.seal_in_place(&nonce, b"to: north", &mut message)?;
        /// cipher.open_in_place(&nonce, b"to: north", &mut message, &tag)?;
        /// assert_eq!(&message, b"attack at dawn");
        /// # Ok::<(), keyspring::aead::Error>(())
        /// ```
        #[derive(Clone)]
        pub struct $name {
            key: [u8; 32],
            cores: Cores,
        }

        impl $name {
            /// The bytes of a key.
            pub const KEY_LEN: usize = 32;
            /// The bytes of a nonce.
            pub const NONCE_LEN: usize = $nonce_len;
            /// The bytes of a tag.
            pub const TAG_LEN: usize = 16;
            /// The bytes of the longest message: 2^38 - 64, what a 32-bit block counter reaches.
            pub const MAX_LEN: u64 = framing::MAX_LEN;

            /// Takes a copy of a key, which is wiped on drop.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use keyspring::aead::", stringify!($name), ";")]
            /// use keyspring::crng;
            ///
            #[doc = concat!("let cipher = ", stringify!($name), "::from_key(crng::key().as_bytes());")]
            /// ```
            #[must_use]
            pub fn from_key(key: &[u8; 32]) -> Self {
                Self { key: *key, cores: Cores::new() }
            }

            /// Seals a message in place. `in_out` holds the message on entry and the ciphertext on
            /// exit; the tag is returned.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes; nothing is
            /// written.
            ///
            /// # Security
            ///
            /// The nonce must never be used again under this key.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut message = *b"attack at dawn";
            /// let tag = cipher.seal_in_place(&nonce, b"to: north", &mut message)?;
            /// assert_ne!(&message, b"attack at dawn");
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn seal_in_place(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                in_out: &mut [u8],
            ) -> Result<[u8; 16], Error> {
                self.seal_message(nonce, aad, InPlace(in_out))
            }

            /// Opens a message in place. `in_out` holds the ciphertext on entry and the message on
            /// exit.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is refused: `in_out` is as it was, still the ciphertext, so
            /// that another key may be tried.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut message = *b"attack at dawn";
            /// let tag = cipher.seal_in_place(&nonce, b"to: north", &mut message)?;
            /// assert!(cipher.open_in_place(&nonce, b"to: south", &mut message, &tag).is_err());
            /// cipher.open_in_place(&nonce, b"to: north", &mut message, &tag)?;
            /// assert_eq!(&message, b"attack at dawn");
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn open_in_place(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                in_out: &mut [u8],
                tag: &[u8; 16],
            ) -> Result<(), Error> {
                self.open_message(nonce, aad, InPlace(in_out), tag)
            }

            /// Seals a message into another buffer: `out`, of `plaintext.len() + 16` bytes, is the
            /// ciphertext and then the tag on exit.
            ///
            /// # Errors
            ///
            /// [`Error`] if `out` has another length, or the message more than
            /// [`MAX_LEN`](Self::MAX_LEN) bytes; nothing is written.
            ///
            /// # Security
            ///
            /// The nonce must never be used again under this key.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut sealed = [0; 14 + 16];
            /// cipher.seal_into(&nonce, b"", b"attack at dawn", &mut sealed)?;
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn seal_into(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                plaintext: &[u8],
                out: &mut [u8],
            ) -> Result<(), Error> {
                let (out, tag) = split_tag_mut(out, plaintext.len())?;
                *tag = self.seal_message(nonce, aad, Apart::new(plaintext, out))?;
                Ok(())
            }

            /// Opens a ciphertext that its tag follows: `out`, of `sealed.len() - 16` bytes, is the
            /// message on exit.
            ///
            /// # Errors
            ///
            /// [`Error`] if `out` has another length or the message more than
            /// [`MAX_LEN`](Self::MAX_LEN) bytes (nothing is written), or if the message is refused
            /// (`out` is all zero).
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut sealed = [0; 14 + 16];
            /// cipher.seal_into(&nonce, b"", b"attack at dawn", &mut sealed)?;
            /// let mut message = [0; 14];
            /// cipher.open_into(&nonce, b"", &sealed, &mut message)?;
            /// assert_eq!(&message, b"attack at dawn");
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn open_into(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                sealed: &[u8],
                out: &mut [u8],
            ) -> Result<(), Error> {
                let (ciphertext, tag) = split_tag(sealed)?;
                if out.len() != ciphertext.len() {
                    return Err(Error(()));
                }
                self.open_apart(nonce, aad, ciphertext, out, tag)
            }

            /// Seals a message that lies in several places, with an AAD that may too: the same
            /// bytes as if each were one. `out`, of the parts' lengths and 16 bytes, is the
            /// ciphertext and then the tag on exit. Parts may overlap each other.
            ///
            /// # Errors
            ///
            /// [`Error`] if `out` has another length, or the message more than
            /// [`MAX_LEN`](Self::MAX_LEN) bytes; nothing is written.
            ///
            /// # Security
            ///
            /// The nonce must never be used again under this key. The plaintext stands in `out` before
            /// it is encrypted there: memory that others read meanwhile, shared or a device's (DMA),
            /// is no place for it; seal into a buffer of your own and copy.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut sealed = [0; 11 + 16];
            /// cipher.seal_gather(&nonce, &[b"header"], &[b"hello", b" ", b"there"], &mut sealed)?;
            /// assert_eq!(cipher.open(&nonce, b"header", &sealed)?, b"hello there");
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn seal_gather(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[&[u8]],
                parts: &[&[u8]],
                out: &mut [u8],
            ) -> Result<(), Error> {
                framing::total(aad)?;
                let (out, tag) = split_tag_mut(out, framing::total(parts)?)?;
                framing::check(out.len())?;
                *tag = self.under(nonce).seal_gather(aad, parts, out);
                Ok(())
            }

            /// Seals a message: returns the ciphertext and then the tag.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes.
            ///
            /// # Security
            ///
            /// The nonce must never be used again under this key.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let sealed = cipher.seal(&nonce, b"", b"attack at dawn")?;
            /// assert_eq!(sealed.len(), 14 + 16);
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            #[cfg(feature = "alloc")]
            pub fn seal(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                plaintext: &[u8],
            ) -> Result<Vec<u8>, Error> {
                framing::check(plaintext.len())?;
                let mut sealed = Vec::with_capacity(plaintext.len() + 16);
                sealed.extend_from_slice(plaintext);
                let tag = self.seal_in_place(nonce, aad, &mut sealed)?;
                sealed.extend_from_slice(&tag);
                Ok(sealed)
            }

            /// Opens a ciphertext that its tag follows: returns the message.
            ///
            /// # Errors
            ///
            /// [`Error`] if the message is refused, or shorter than a tag.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::aead::", stringify!($name), ";")]
            #[doc = concat!("# let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            #[doc = concat!("# let nonce = [1; ", stringify!($nonce_len), "];")]
            /// let mut sealed = cipher.seal(&nonce, b"", b"attack at dawn")?;
            /// assert_eq!(cipher.open(&nonce, b"", &sealed)?, b"attack at dawn");
            /// sealed[0] ^= 1;
            /// assert!(cipher.open(&nonce, b"", &sealed).is_err());
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            #[cfg(feature = "alloc")]
            pub fn open(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                sealed: &[u8],
            ) -> Result<Vec<u8>, Error> {
                let (ciphertext, tag) = split_tag(sealed)?;
                let mut message = ciphertext.to_vec();
                self.open_in_place(nonce, aad, &mut message, tag)?;
                Ok(message)
            }

            /// Seals packets in place, each under its own nonce: the same bytes as one after the
            /// other, in less time the shorter they are.
            ///
            /// # Errors
            ///
            /// [`Error`] if a message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes; nothing is
            /// written to any packet.
            ///
            /// # Security
            ///
            /// No nonce may be used twice under this key, in one batch or in several.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use keyspring::aead::{Packet, ", stringify!($name), "};")]
            ///
            #[doc = concat!("let cipher = ", stringify!($name), "::from_key(&[7; 32]);")]
            /// let (mut hello, mut world) = (*b"hello", *b"world");
            #[doc = concat!("let nonce = |n| [n; ", stringify!($nonce_len), "];")]
            /// let mut packets = [
            ///     Packet { nonce: nonce(1), aad: b"", in_out: &mut hello, tag: [0; 16] },
            ///     Packet { nonce: nonce(2), aad: b"", in_out: &mut world, tag: [0; 16] },
            /// ];
            /// cipher.seal_batch(&mut packets)?;
            ///
            /// packets[0].tag[0] ^= 1;
            /// let mut ok = [false; 2];
            /// assert_eq!(cipher.open_batch(&mut packets, &mut ok)?, 1);
            /// assert_eq!(ok, [false, true]);
            /// assert_eq!(&world, b"world");
            /// # Ok::<(), keyspring::aead::Error>(())
            /// ```
            pub fn seal_batch(
                &self,
                packets: &mut [Packet<'_, $nonce_len>],
            ) -> Result<(), Error> {
                batch::check(packets)?;
                batch::seal(self.cores, packets, self);
                Ok(())
            }

            /// Opens packets in place and returns how many were genuine. `ok` says which, on exit;
            /// the others are as they were, still ciphertext.
            ///
            /// # Errors
            ///
            /// [`Error`] if `ok` is not as long as `packets`, or a message longer than
            /// [`MAX_LEN`](Self::MAX_LEN) bytes; nothing is written. A packet that is refused is no
            /// error.
            ///
            /// # Examples
            ///
            /// See [`seal_batch`](Self::seal_batch).
            pub fn open_batch(
                &self,
                packets: &mut [Packet<'_, $nonce_len>],
                ok: &mut [bool],
            ) -> Result<usize, Error> {
                batch::check_verdicts(packets, ok)?;
                Ok(batch::open(self.cores, packets, ok, self))
            }

            fn seal_message<M: Message>(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                message: M,
            ) -> Result<[u8; 16], Error> {
                framing::check(message.len())?;
                Ok(self.under(nonce).seal(aad, message))
            }

            fn open_message<M: Message>(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                message: M,
                tag: &[u8; 16],
            ) -> Result<(), Error> {
                framing::check(message.len())?;
                if self.under(nonce).open(aad, message, tag) { Ok(()) } else { Err(Error(())) }
            }

            /// Opens into a buffer as long as the ciphertext; a refused message leaves it all zero.
            fn open_apart(
                &self,
                nonce: &[u8; $nonce_len],
                aad: &[u8],
                ciphertext: &[u8],
                out: &mut [u8],
                tag: &[u8; 16],
            ) -> Result<(), Error> {
                framing::check(ciphertext.len())?;
                self.open_message(nonce, aad, Apart::new(ciphertext, out), tag)
                    .inspect_err(|_| out.fill(0))
            }
        }

        impl fmt::Debug for $name {
            /// Shows nothing of the key.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.key.as_mut_slice().zeroize();
            }
        }

        impl ZeroizeOnDrop for $name {}
    };
}

cipher! {
    /// ChaCha20-Poly1305 with a 96-bit nonce (RFC 8439, section 2.8).
    ChaCha20Poly1305, 12
}

cipher! {
    /// XChaCha20-Poly1305 with a 192-bit nonce, long enough to be drawn at random
    /// (draft-irtf-cfrg-xchacha-03, section 2).
    XChaCha20Poly1305, 24
}

impl ChaCha20Poly1305 {
    /// A key on given backends, for the self-test.
    pub(crate) fn on(
        key: &[u8; 32],
        chacha: chacha::Core,
        poly1305: poly1305::Core,
        fused: Option<backend::Fused>,
    ) -> Self {
        Self { key: *key, cores: Cores { chacha, poly1305, fused } }
    }

    #[inline]
    fn under(&self, nonce: &[u8; 12]) -> Whole {
        Whole::new(self.cores, &self.key, nonce)
    }
}

impl XChaCha20Poly1305 {
    fn under(&self, nonce: &[u8; 24]) -> Whole {
        let mut derived = chacha::Derived([0; 32]);
        let nonce = self.derive(nonce, &mut derived.0);
        Whole::new(self.cores, &derived.0, &nonce)
    }

    /// Derives the key by HChaCha20; returns the nonce that is left, behind four zero bytes
    /// (draft-irtf-cfrg-xchacha-03, section 2.3).
    fn derive(&self, nonce: &[u8; 24], subkey: &mut [u8; 32]) -> [u8; 12] {
        let (input, rest) = chacha::split_xnonce(nonce);
        chacha::derive(&self.key, input, subkey);
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(rest);
        nonce
    }

    /// Seals a message under a nonce drawn from [`crate::crng`]: returns the nonce, the ciphertext
    /// and the tag.
    ///
    /// After 2^80 messages under one key, two nonces are the same with probability 2^-32.
    ///
    /// # Errors
    ///
    /// [`Error`] if the message is longer than [`MAX_LEN`](Self::MAX_LEN) bytes, or the operating
    /// system gives no entropy.
    ///
    /// # Examples
    ///
    /// ```
    /// let cipher = keyspring::aead::XChaCha20Poly1305::from_key(&[7; 32]);
    /// let sealed = cipher.seal_with_random_nonce(b"", b"attack at dawn")?;
    /// assert_eq!(sealed.len(), 24 + 14 + 16);
    /// assert_eq!(cipher.open_with_nonce(b"", &sealed)?, b"attack at dawn");
    /// # Ok::<(), keyspring::aead::Error>(())
    /// ```
    #[cfg(all(feature = "std", feature = "getrandom"))]
    pub fn seal_with_random_nonce(&self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
        framing::check(plaintext.len())?;
        let mut nonce = [0; 24];
        crate::crng::try_fill(&mut nonce).map_err(|_| Error(()))?;
        let mut sealed = Vec::with_capacity(24 + plaintext.len() + 16);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plaintext);
        let tag = self.seal_in_place(&nonce, aad, &mut sealed[24..])?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// Opens what [`seal_with_random_nonce`](Self::seal_with_random_nonce) sealed: returns the
    /// message.
    ///
    /// # Errors
    ///
    /// [`Error`] if the message is refused, or shorter than a nonce and a tag.
    ///
    /// # Examples
    ///
    /// See [`seal_with_random_nonce`](Self::seal_with_random_nonce).
    #[cfg(all(feature = "std", feature = "getrandom"))]
    pub fn open_with_nonce(&self, aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let (nonce, sealed) = sealed.split_first_chunk().ok_or(Error(()))?;
        self.open(nonce, aad, sealed)
    }
}

/// The ciphertext and the tag behind it.
fn split_tag(sealed: &[u8]) -> Result<(&[u8], &[u8; 16]), Error> {
    sealed.split_last_chunk().ok_or(Error(()))
}

/// Room for a ciphertext of `len` bytes and its tag, if `out` is exactly that long.
fn split_tag_mut(out: &mut [u8], len: usize) -> Result<(&mut [u8], &mut [u8; 16]), Error> {
    match out.split_last_chunk_mut() {
        Some((ciphertext, tag)) if ciphertext.len() == len => Ok((ciphertext, tag)),
        _ => Err(Error(())),
    }
}

// They force backends, which a packaged crate can't (its dev-dependency on itself is dropped).
#[cfg(all(test, feature = "force-backend"))]
mod tests;

//! Poly1305, the one-time authenticator (RFC 8439, section 2.5; Bernstein, 2005).
//!
//! A key must authenticate one message only: two tags under one key give the key away. To seal
//! messages, use [`crate::aead`], which draws a fresh key for each.
//!
//! With the feature `universal-hash`, [`Poly1305`] has the traits of that crate as well (`KeyInit`,
//! `UniversalHash`), which is re-exported here:
//!
//! ```
//! # #[cfg(feature = "universal-hash")] {
//! use keyspring::poly1305::Poly1305;
//! use keyspring::poly1305::universal_hash::{Block, Key, KeyInit, UniversalHash};
//!
//! fn tag<H: KeyInit + UniversalHash>(key: &Key<H>, message: &[u8]) -> Block<H> {
//!     let mut hash = H::new(key);
//!     hash.update_padded(message);
//!     hash.finalize()
//! }
//! assert_eq!(tag::<Poly1305>(&[7; 32].into(), b"padded with zeros").len(), 16);
//! # }
//! ```
#![doc = include_str!("DESIGN.md")]
// Where no row has vectors, nothing calls their bodies.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_feature = "neon")),
    allow(dead_code, unused_imports)
)]

pub(crate) mod backend;
pub(crate) mod batch;
#[cfg(target_pointer_width = "64")]
mod isa;
#[cfg(target_pointer_width = "64")]
mod lanes;
#[cfg(target_pointer_width = "64")]
mod lanes26;
#[cfg(all(target_pointer_width = "64", any(test, target_arch = "x86_64")))]
mod lanes44;
#[cfg(target_pointer_width = "64")]
mod powers;
pub(crate) mod scalar;
#[cfg(feature = "universal-hash")]
mod traits;

use core::fmt;
use core::hint::black_box;

use subtle::ConstantTimeEq;
#[cfg(feature = "universal-hash")]
pub use universal_hash;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub(crate) use self::backend::Core;
#[cfg(target_pointer_width = "64")]
pub(crate) use self::powers::{Keep, Powers};
use crate::section::{self, Primitive};

/// No row needs powers of r.
#[cfg(not(target_pointer_width = "64"))]
#[derive(Clone)]
pub(crate) enum Powers {}

#[cfg(not(target_pointer_width = "64"))]
pub(crate) type Keep<'a> = Option<&'a mut Option<Powers>>;

/// The tag does not belong to the message.
///
/// # Examples
///
/// ```
/// use keyspring::poly1305::Poly1305;
///
/// let error = Poly1305::from_key(&[7; 32]).verify(&[0; 16]).unwrap_err();
/// assert_eq!(error.to_string(), "the tag does not belong to the message");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(());

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tag does not belong to the message")
    }
}

impl core::error::Error for Error {}

/// The accumulator and s: a message in whole blocks, or padded to them.
#[derive(Clone)]
pub(crate) struct Accumulator {
    state: scalar::State,
    s: [u8; 16],
    core: Core,
    /// Once a vector kernel has run.
    powers: Option<Powers>,
}

impl Accumulator {
    #[inline]
    pub(crate) fn new(core: Core, key: &[u8; 32]) -> Self {
        let [r, s] = halves(key);
        Self { state: scalar::State::new(r), s: *s, core, powers: None }
    }

    #[inline]
    pub(crate) fn blocks(&mut self, blocks: &[[u8; 16]]) {
        self.core.blocks(&mut self.state, &mut self.powers, blocks);
    }

    /// Takes in `bytes` and as many zeros as make whole blocks of them (RFC 8439, section 2.8).
    #[inline]
    pub(crate) fn padded(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        self.blocks(blocks);
        if !rest.is_empty() {
            self.state.blocks(&[padded(rest)]);
        }
    }

    /// As [`Accumulator::padded`], of all parts together; returns how long they are.
    pub(crate) fn padded_parts(&mut self, parts: &[&[u8]]) -> usize {
        let (mut block, mut len) = ([0; 16], 0);
        for mut part in parts.iter().copied() {
            let held = len % 16;
            len += part.len();
            if held > 0 {
                let (head, rest) = part.split_at(part.len().min(16 - held));
                block[held..held + head.len()].copy_from_slice(head);
                if held + head.len() < 16 {
                    continue;
                }
                self.blocks(&[block]);
                part = rest;
            }
            let (blocks, rest) = part.as_chunks::<16>();
            self.blocks(blocks);
            block = padded(rest);
        }
        if len % 16 > 0 {
            // Zeros lie behind what is held.
            self.blocks(&[block]);
        }
        len
    }

    /// The accumulator itself, for a kernel that takes in whole blocks on its own.
    pub(crate) fn state(&mut self) -> &mut scalar::State {
        &mut self.state
    }

    #[inline]
    pub(crate) fn tag(&self) -> [u8; 16] {
        self.state.tag(&self.s)
    }
}

impl Drop for Accumulator {
    fn drop(&mut self) {
        self.s.as_mut_slice().zeroize();
    }
}

/// r and s.
#[inline]
fn halves(key: &[u8; 32]) -> [&[u8; 16]; 2] {
    let (r, s) = key.split_first_chunk().expect("16 of 32 bytes");
    [r, s.first_chunk().expect("the other 16")]
}

/// Fewer than 16 bytes, and zeros.
#[inline]
fn padded(bytes: &[u8]) -> [u8; 16] {
    word(bytes).to_le_bytes()
}

/// Fewer than 16 bytes as a number. They are read as two or three words that overlap: a copy of any
/// length is a call, which costs more than a block, and bytes that are stored are not there yet when a
/// word of them is loaded.
#[inline]
fn word(bytes: &[u8]) -> u128 {
    let len = bytes.len();
    if let (Some(head), Some(tail)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let tail = u128::from(u64::from_le_bytes(*tail));
        u128::from(u64::from_le_bytes(*head)) | tail << (8 * (len - 8))
    } else if let (Some(head), Some(tail)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let tail = u64::from(u32::from_le_bytes(*tail)) << (8 * (len - 4));
        (u64::from(u32::from_le_bytes(*head)) | tail).into()
    } else if let (Some(head), Some(tail)) = (bytes.first(), bytes.last()) {
        let byte = |byte: u8, at: usize| u32::from(byte) << (8 * at);
        (u32::from(*head) | byte(bytes[len / 2], len / 2) | byte(*tail, len - 1)).into()
    } else {
        0
    }
}

/// Whether two tags are equal, in a time that does not depend on where they differ.
///
/// The verdict is public. What follows secrets through the machine is told so here, and nowhere else,
/// by a branch: a constant comes out.
///
/// One comparison of words: byte by byte, `subtle` makes a call for each, which together cost more
/// than a short message's Poly1305 (Zen 5: 90 of the 485 cycles that it takes to open an empty one).
#[inline(never)]
pub(crate) fn tags_are_equal(a: &[u8; 16], b: &[u8; 16]) -> bool {
    let difference = u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b);
    let difference = difference as u64 | (difference >> 64) as u64;
    if difference.ct_eq(&0).into() { black_box(true) } else { black_box(false) }
}

/// A message on its way through Poly1305, in pieces of any length.
///
/// # Security
///
/// The 32 bytes of key, r and s, must be fresh for each message. They are wiped on drop, as are the
/// accumulator and the bytes of the message that are held back.
///
/// # Examples
///
/// ```
/// use keyspring::poly1305::{Poly1305, mac};
///
/// let mut poly = Poly1305::from_key(&[7; 32]);
/// poly.update(b"in two ");
/// poly.update(b"pieces");
/// assert_eq!(poly.finalize(), mac(&[7; 32], b"in two pieces"));
/// ```
#[derive(Clone)]
pub struct Poly1305 {
    accumulator: Accumulator,
    /// The first `held` bytes are of a block not yet whole.
    block: [u8; 16],
    held: usize,
}

impl Poly1305 {
    /// The bytes of a one-time key.
    pub const KEY_LEN: usize = 32;
    /// The bytes of a tag.
    pub const TAG_LEN: usize = 16;

    /// Starts a message under a one-time key: r, which is clamped here, and s.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// use keyspring::crng;
    /// use keyspring::poly1305::Poly1305;
    ///
    /// let key = crng::key::<32>(); // fresh: it is for one message
    /// let mut poly = Poly1305::from_key(key.as_bytes());
    /// poly.update(b"attack at dawn");
    /// # }
    /// ```
    #[must_use]
    pub fn from_key(key: &[u8; 32]) -> Self {
        Self::over(Accumulator::new(Core::new(), key))
    }

    pub(crate) fn over(accumulator: Accumulator) -> Self {
        Self { accumulator, block: [0; 16], held: 0 }
    }

    /// Takes in the next bytes of the message.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::poly1305::{Poly1305, mac};
    ///
    /// let mut pieces = Poly1305::from_key(&[7; 32]);
    /// pieces.update(b"attack ");
    /// pieces.update(b"at dawn");
    /// assert_eq!(pieces.finalize(), mac(&[7; 32], b"attack at dawn"));
    /// ```
    pub fn update(&mut self, mut bytes: &[u8]) {
        if self.held > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(16 - self.held));
            self.block[self.held..][..head.len()].copy_from_slice(head);
            self.held += head.len();
            if self.held < 16 {
                return;
            }
            self.accumulator.state.blocks(&[self.block]);
            bytes = rest;
        }
        let (blocks, rest) = bytes.as_chunks::<16>();
        self.accumulator.blocks(blocks);
        self.block[..rest.len()].copy_from_slice(rest);
        self.held = rest.len();
    }

    /// Gives the tag of the whole message.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::poly1305::Poly1305;
    ///
    /// let mut poly = Poly1305::from_key(&[7; 32]);
    /// poly.update(b"attack at dawn");
    /// let tag: [u8; 16] = poly.finalize();
    /// ```
    #[must_use]
    pub fn finalize(mut self) -> [u8; 16] {
        if self.held > 0 {
            self.accumulator.state.last(&self.block[..self.held]);
        }
        self.accumulator.tag()
    }

    /// Checks a tag of the whole message, in a time that does not depend on where it is wrong.
    ///
    /// # Errors
    ///
    /// [`Error`] if it is not the message's.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::poly1305::{Poly1305, mac};
    ///
    /// let mut poly = Poly1305::from_key(&[7; 32]);
    /// poly.update(b"message");
    /// assert!(poly.verify(&mac(&[7; 32], b"message")).is_ok());
    /// ```
    pub fn verify(self, tag: &[u8; 16]) -> Result<(), Error> {
        if tags_are_equal(&self.finalize(), tag) { Ok(()) } else { Err(Error(())) }
    }
}

impl fmt::Debug for Poly1305 {
    /// Shows nothing of the key or the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poly1305").finish_non_exhaustive()
    }
}

impl Drop for Poly1305 {
    fn drop(&mut self) {
        self.block.as_mut_slice().zeroize();
    }
}

impl ZeroizeOnDrop for Poly1305 {}

/// Computes the tag of a whole message under a one-time key.
///
/// # Security
///
/// The key must be fresh for each message.
///
/// # Examples
///
/// The vector of RFC 8439, section 2.5.2:
///
/// ```
/// let mut key = [0; 32];
/// hex::decode_to_slice("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b", &mut key)?;
/// let tag = keyspring::poly1305::mac(&key, b"Cryptographic Forum Research Group");
/// assert_eq!(hex::encode(tag), "a8061dc1305136c6c22b8baf0c0127a9");
/// # Ok::<(), hex::FromHexError>(())
/// ```
#[must_use]
pub fn mac(key: &[u8; 32], msg: &[u8]) -> [u8; 16] {
    let [r, s] = halves(key);
    let (blocks, rest) = msg.as_chunks::<16>();
    if backend::is_short(blocks.len()) {
        return section::scalar(Primitive::Poly1305, || scalar::mac(r, s, msg));
    }
    let mut state = scalar::State::new(r);
    Core::new().once(&mut state, blocks);
    if !rest.is_empty() {
        state.last(rest);
    }
    state.tag(s)
}

#[cfg(all(test, target_pointer_width = "64"))]
mod models;
#[cfg(all(test, target_pointer_width = "64"))]
mod proof;
#[cfg(test)]
mod tests;

//! ChaCha: the stream ciphers, the block function and HChaCha20.
//!
//! | type | rounds | nonce | counter | keystream |
//! |---|---|---|---|---|
//! | [`ChaCha20`] | 20 | 96 bits | 32 bits | 2^38 bytes |
//! | [`ChaCha12`] | 12 | 96 bits | 32 bits | 2^38 bytes |
//! | [`ChaCha8`] | 8 | 96 bits | 32 bits | 2^38 bytes |
//! | [`XChaCha20`] | 20 | 192 bits | 64 bits | 2^64 - 1 bytes |
//! | [`ChaCha20Legacy`] | 20 | 64 bits | 64 bits | 2^64 - 1 bytes |
//!
//! None of them authenticates anything: who can change the ciphertext can flip any bit of the
//! message. To seal messages, use [`crate::aead`].
//!
//! With the feature `cipher` they have the traits of the `cipher` crate as well (`KeyIvInit`,
//! `StreamCipher`, `StreamCipherSeek`), which is re-exported here:
//!
//! ```
//! # #[cfg(feature = "cipher")] {
//! use keyspring::chacha::ChaCha20;
//! use keyspring::chacha::cipher::{KeyIvInit, StreamCipher};
//!
//! fn encrypt<C: KeyIvInit + StreamCipher>(key: &[u8], nonce: &[u8], message: &mut [u8]) {
//!     C::new_from_slices(key, nonce).expect("both have the right length").apply_keystream(message);
//! }
//! encrypt::<ChaCha20>(&[7; 32], &[9; 12], &mut [0; 100]);
//! # }
//! ```
#![doc = include_str!("DESIGN.md")]

pub(crate) mod backend;
// The vector bodies have no row to run in yet on other architectures.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) mod batch;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) mod data;
#[cfg(any(feature = "aead", feature = "cipher"))]
pub(crate) mod inout;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) mod isa;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod narrow;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod pair;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod shapes;
#[cfg(feature = "cipher")]
mod traits;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) mod wide;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod woven;

use core::fmt;

#[cfg(feature = "cipher")]
pub use cipher;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub(crate) use self::backend::Core;
use self::backend::scalar;
use self::data::{Data, InPlace, Keystream};

/// `"expand 32-byte k"` (RFC 8439, section 2.3).
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The double rounds of ChaCha20.
pub(crate) const DOUBLE_ROUNDS: u32 = 10;

/// The state matrix at block 0, and how many double rounds it goes through.
///
/// ```text
/// constant  constant  constant  constant
/// key       key       key       key
/// key       key       key       key
/// counter   nonce     nonce     nonce        32-bit counter (RFC 8439)
/// counter   counter   nonce     nonce        64-bit counter (legacy, XChaCha20)
/// ```
///
/// Both layouts go through the same kernels: words 12 and 13 are one 64-bit number, to which the
/// number of a block is added. Under a 32-bit counter nothing ever carries into word 13, since a
/// caller must not ask for a block past the last.
#[derive(Clone)]
pub(crate) struct State {
    key: [u32; 8],
    /// Words 12 and 13.
    counter: u64,
    /// Words 14 and 15.
    nonce: u64,
    double_rounds: u32,
}

impl State {
    #[inline(always)]
    fn new(key: &[u8; 32], counter: u64, nonce: u64, double_rounds: u32) -> Self {
        Self { key: words(key), counter, nonce, double_rounds }
    }

    /// The layout of RFC 8439, at a block.
    #[inline(always)]
    pub(crate) fn with_nonce_96(
        key: &[u8; 32],
        nonce: &[u8; 12],
        counter: u32,
        double_rounds: u32,
    ) -> Self {
        // Three loads: a caller makes a nonce in pieces of its own, and a load that spans two stores
        // waits until both have left the store buffer (128 bytes, Zen 5: 531 cycles to 404).
        let [a, b, c] = words(nonce).map(|word| u64::from(scalar::alone(word)));
        Self::new(key, a << 32 | u64::from(counter), c << 32 | b, double_rounds)
    }

    /// The original layout (Bernstein, 2008), at block 0.
    fn with_nonce_64(key: &[u8; 32], nonce: &[u8; 8], double_rounds: u32) -> Self {
        Self::new(key, 0, u64::from_le_bytes(*nonce), double_rounds)
    }

    /// The matrix of a block.
    #[inline(always)]
    fn words(&self, block: u64) -> [u32; 16] {
        let counter = self.counter.wrapping_add(block);
        let [k0, k1, k2, k3, k4, k5, k6, k7] = self.key;
        let [c0, c1, c2, c3] = CONSTANTS;
        let [low, high] = [counter as u32, (counter >> 32) as u32];
        let [n0, n1] = [self.nonce as u32, (self.nonce >> 32) as u32];
        [c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, low, high, n0, n1]
    }
}

impl Drop for State {
    #[inline]
    fn drop(&mut self) {
        self.key.as_mut_slice().zeroize();
    }
}

/// A key that was derived for one message. Wiped on drop: where it is wiped by hand, what is made of it
/// is moved afterwards, and leaves a copy.
pub(crate) struct Derived(pub(crate) [u8; 32]);

impl Drop for Derived {
    #[inline]
    fn drop(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

/// Little-endian words.
#[inline(always)]
fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u32; WORDS] {
    const { assert!(BYTES == 4 * WORDS) };
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// No keystream is left: the message would run past the last block that the counter can number.
///
/// # Examples
///
/// ```
/// use keyspring::chacha::ChaCha20;
///
/// let mut cipher = ChaCha20::from_key(&[7; 32], &[9; 12]);
/// cipher.seek_to((1 << 38) - 1);
/// let error = cipher.try_apply_keystream(&mut [0; 2]).unwrap_err();
/// assert_eq!(error.to_string(), "the keystream of this key and nonce is exhausted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted(());

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the keystream of this key and nonce is exhausted")
    }
}

impl core::error::Error for Exhausted {}

/// A keystream with a position.
#[derive(Clone)]
pub(crate) struct Stream {
    /// The state at block 0.
    start: State,
    /// The next byte.
    position: u64,
    /// The end of the keystream.
    limit: u64,
    /// The block that `position` is inside of, if it has been made.
    block: Option<[u8; 64]>,
    core: Core,
}

impl Stream {
    /// The whole keystream under a 96-bit nonce and a 32-bit counter, from a state at block 0.
    pub(crate) fn with_nonce_96(core: Core, start: State) -> Self {
        Self::new(core, start, 64 << 32)
    }

    /// The whole keystream under a 64-bit nonce and a 64-bit counter, from a state at block 0.
    /// There are 2^70 bytes; positions are counted in 64 bits.
    fn with_nonce_64(core: Core, start: State) -> Self {
        Self::new(core, start, u64::MAX)
    }

    fn new(core: Core, start: State, limit: u64) -> Self {
        Self { start, position: 0, limit, block: None, core }
    }

    pub(crate) fn seek_to(&mut self, position: u64) {
        if position / 64 != self.position / 64 {
            self.forget_block();
        }
        self.position = position;
    }

    /// The position after `len` more bytes, if the keystream has them.
    #[inline]
    fn end_after(&self, len: usize) -> Result<u64, Exhausted> {
        let end = self.position.checked_add(len as u64);
        end.filter(|end| *end <= self.limit).ok_or(Exhausted(()))
    }

    /// Puts the next bytes of keystream to `data`: all of them, or none and an error.
    #[inline]
    pub(crate) fn try_apply<D: Data>(&mut self, data: D) -> Result<(), Exhausted> {
        let end = self.end_after(data.len())?;
        if self.position.is_multiple_of(64) && data.len() >= 64 {
            self.apply_from_block_on(data, end);
        } else {
            self.apply_in_pieces(data, end);
        }
        Ok(())
    }

    /// By the kernels, from the beginning of a block on. A block that the data ends in the middle of
    /// is made again when the next piece asks for it, which a message in one piece never does.
    ///
    /// The position is set first: what is not needed after the call is not saved around it.
    #[inline]
    fn apply_from_block_on<D: Data>(&mut self, data: D, end: u64) {
        let block = self.position / 64;
        self.forget_block();
        self.position = end;
        self.core.run(&self.start, block, None, data);
    }

    /// What is left of a block begun, or the whole of a message inside one block, by the buffer, so
    /// that many short pieces cost one block; then the rest.
    fn apply_in_pieces<D: Data>(&mut self, mut data: D, end: u64) {
        let len = data.len();
        if len == 0 {
            return;
        }
        let offset = (self.position % 64) as usize;
        let block = match &mut self.block {
            Some(block) => block,
            none => {
                let block = none.insert([0; 64]);
                let number = self.position / 64;
                self.core.run(&self.start, number, Some(block), Keystream(&mut []));
                block
            }
        };
        let taken = len.min(64 - offset);
        data.window(0, taken).put(&block[offset..offset + taken]);
        self.position += taken as u64;
        if self.position.is_multiple_of(64) {
            self.forget_block();
        }
        if taken < len {
            let (_, data) = data.split_at(taken);
            self.apply_from_block_on(data, end);
        }
    }

    #[inline]
    fn forget_block(&mut self) {
        if let Some(block) = &mut self.block {
            block.as_mut_slice().zeroize();
            self.block = None;
        }
    }
}

impl Drop for Stream {
    #[inline]
    fn drop(&mut self) {
        self.forget_block();
    }
}

/// A public cipher: a [`Stream`] under a name of its own.
macro_rules! cipher {
    (
        $(#[doc = $doc:expr])*
        $name:ident, nonce: $nonce_len:literal, limit: $limit:literal,
        $new:expr
    ) => {
        $(#[doc = $doc])*
        ///
        #[doc = concat!("The keystream has ", $limit, " bytes.")]
        ///
        /// # Security
        ///
        /// A nonce must never be used twice under one key: who sees both ciphertexts has the xor of
        /// the messages. The key and the keystream held here are wiped on drop.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use keyspring::chacha::", stringify!($name), ";")]
        ///
        #[doc = concat!("let (key, nonce) = ([7; 32], [9; ", stringify!($nonce_len), "]);")]
        /// let mut message = *b"attack at dawn";
        #[doc = concat!(stringify!($name), "::from_key(&key, &nonce).apply_keystream(&mut message);")]
        /// assert_ne!(&message, b"attack at dawn");
        #[doc = concat!(stringify!($name), "::from_key(&key, &nonce).apply_keystream(&mut message);")]
        /// assert_eq!(&message, b"attack at dawn");
        /// ```
        #[derive(Clone)]
        pub struct $name(Stream);

        impl $name {
            /// The bytes of a key.
            pub const KEY_LEN: usize = 32;
            /// The bytes of a nonce.
            pub const NONCE_LEN: usize = $nonce_len;

            /// Starts the keystream of a key and a nonce at byte 0.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::chacha::", stringify!($name), ";")]
            #[doc = concat!("let mut cipher = ", stringify!($name), "::from_key(&[7; 32], &[9; ", stringify!($nonce_len), "]);")]
            /// assert_eq!(cipher.position(), 0);
            /// cipher.apply_keystream(&mut [0; 100]);
            /// ```
            #[must_use]
            #[inline]
            pub fn from_key(key: &[u8; 32], nonce: &[u8; $nonce_len]) -> Self {
                let new: fn(Core, &[u8; 32], &[u8; $nonce_len]) -> Stream = $new;
                Self(new(Core::new(), key, nonce))
            }

            /// Xors the next bytes of keystream into `in_out`, of any length: a message becomes
            /// ciphertext, a ciphertext the message.
            ///
            /// # Panics
            ///
            /// If the keystream is [`Exhausted`]; nothing is written then.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::chacha::", stringify!($name), ";")]
            #[doc = concat!("let mut cipher = ", stringify!($name), "::from_key(&[7; 32], &[9; ", stringify!($nonce_len), "]);")]
            /// let mut message = *b"attack at dawn";
            /// let (head, tail) = message.split_at_mut(5);
            /// cipher.apply_keystream(head);
            /// cipher.apply_keystream(tail); // the same as both at once
            /// ```
            #[inline]
            pub fn apply_keystream(&mut self, in_out: &mut [u8]) {
                self.try_apply_keystream(in_out).expect("keystream left");
            }

            /// Xors the next bytes of keystream into `in_out`, of any length.
            ///
            /// # Errors
            ///
            /// [`Exhausted`] if it would run past the end of the keystream: nothing is written, and
            /// the position stays.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::chacha::", stringify!($name), ";")]
            #[doc = concat!("let mut cipher = ", stringify!($name), "::from_key(&[7; 32], &[9; ", stringify!($nonce_len), "]);")]
            /// cipher.seek_to(u64::MAX);
            /// assert!(cipher.try_apply_keystream(&mut [0; 100]).is_err());
            /// ```
            #[inline]
            pub fn try_apply_keystream(&mut self, in_out: &mut [u8]) -> Result<(), Exhausted> {
                self.0.try_apply(InPlace(in_out))
            }

            /// Writes the next bytes of the keystream itself over `out`.
            ///
            /// # Panics
            ///
            /// If the keystream is [`Exhausted`]; nothing is written then.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::chacha::", stringify!($name), ";")]
            #[doc = concat!("let mut cipher = ", stringify!($name), "::from_key(&[7; 32], &[9; ", stringify!($nonce_len), "]);")]
            /// let mut keystream = [0; 100];
            /// cipher.write_keystream(&mut keystream);
            /// assert_ne!(keystream, [0; 100]);
            /// ```
            pub fn write_keystream(&mut self, out: &mut [u8]) {
                self.0.try_apply(Keystream(out)).expect("keystream left");
            }

            /// Goes to a byte of the keystream. Past the end is allowed; to use it there gives
            /// [`Exhausted`].
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::chacha::", stringify!($name), ";")]
            #[doc = concat!("let mut cipher = ", stringify!($name), "::from_key(&[7; 32], &[9; ", stringify!($nonce_len), "]);")]
            /// let (mut all, mut end) = ([0; 100], [0; 40]);
            /// cipher.write_keystream(&mut all);
            /// cipher.seek_to(60);
            /// cipher.write_keystream(&mut end);
            /// assert_eq!(end, all[60..]);
            /// ```
            pub fn seek_to(&mut self, byte: u64) {
                self.0.seek_to(byte);
            }

            /// The byte of the keystream that comes next.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("# use keyspring::chacha::", stringify!($name), ";")]
            #[doc = concat!("let mut cipher = ", stringify!($name), "::from_key(&[7; 32], &[9; ", stringify!($nonce_len), "]);")]
            /// cipher.write_keystream(&mut [0; 100]);
            /// assert_eq!(cipher.position(), 100);
            /// ```
            #[must_use]
            pub fn position(&self) -> u64 {
                self.0.position
            }
        }

        impl fmt::Debug for $name {
            /// Shows the position alone.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("position", &self.0.position)
                    .finish_non_exhaustive()
            }
        }

        impl ZeroizeOnDrop for $name {}
    };
}

cipher! {
    /// ChaCha20 with a 96-bit nonce and a 32-bit counter (RFC 8439, section 2.4).
    ChaCha20, nonce: 12, limit: "2^38",
    |core, key, nonce| Stream::with_nonce_96(core, State::with_nonce_96(key, nonce, 0, 10))
}

cipher! {
    /// ChaCha12 with a 96-bit nonce and a 32-bit counter: 12 rounds (Bernstein, 2008).
    ChaCha12, nonce: 12, limit: "2^38",
    |core, key, nonce| Stream::with_nonce_96(core, State::with_nonce_96(key, nonce, 0, 6))
}

cipher! {
    /// ChaCha8 with a 96-bit nonce and a 32-bit counter: 8 rounds (Bernstein, 2008). Published
    /// attacks reach past 7 rounds; keep it for data that may be lost.
    ChaCha8, nonce: 12, limit: "2^38",
    |core, key, nonce| Stream::with_nonce_96(core, State::with_nonce_96(key, nonce, 0, 4))
}

cipher! {
    /// XChaCha20: a 192-bit nonce, long enough to be drawn at random, and a 64-bit counter
    /// (draft-irtf-cfrg-xchacha-03, section 2.3, with the original layout after HChaCha20, as
    /// libsodium has it).
    XChaCha20, nonce: 24, limit: "2^64 - 1",
    |core, key, nonce| {
        let (input, rest) = split_xnonce(nonce);
        let mut subkey = Derived([0; 32]);
        derive(key, input, &mut subkey.0);
        Stream::with_nonce_64(core, State::with_nonce_64(&subkey.0, rest, 10))
    }
}

cipher! {
    /// ChaCha20 in its original layout, with a 64-bit nonce and a 64-bit counter (Bernstein, 2008).
    ChaCha20Legacy, nonce: 8, limit: "2^64 - 1",
    |core, key, nonce| Stream::with_nonce_64(core, State::with_nonce_64(key, nonce, 10))
}

/// The input of HChaCha20 and the nonce that is left, of a 192-bit nonce.
#[inline(always)]
pub(crate) fn split_xnonce(nonce: &[u8; 24]) -> (&[u8; 16], &[u8; 8]) {
    let (input, rest) = nonce.split_first_chunk().expect("16 of 24 bytes");
    (input, rest.first_chunk().expect("the other 8"))
}

/// Derives a key from a key and 16 bytes of input: ChaCha20 without the feed-forward
/// (draft-irtf-cfrg-xchacha-03, section 2.2).
///
/// # Security
///
/// What it returns is a secret key, for the caller to wipe.
///
/// # Examples
///
/// ```
/// let subkey = keyspring::chacha::hchacha20(&[1; 32], &[2; 16]);
/// assert_ne!(subkey, [1; 32]);
/// ```
#[must_use]
pub fn hchacha20(key: &[u8; 32], input: &[u8; 16]) -> [u8; 32] {
    let mut out = [0; 32];
    derive(key, input, &mut out);
    out
}

/// As [`hchacha20`], to where the key is wanted: an array that is returned leaves copies behind.
pub(crate) fn derive(key: &[u8; 32], input: &[u8; 16], out: &mut [u8; 32]) {
    let [a, b, c, d] = words(input).map(u64::from);
    let state = State::new(key, b << 32 | a, d << 32 | c, 10);
    let mut words = state.words(0);
    scalar::double_rounds(&mut words, 10);
    let kept = words[..4].iter().chain(&words[12..]);
    for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(kept) {
        *bytes = word.to_le_bytes();
    }
    words.as_mut_slice().zeroize();
}

/// Computes one block of ChaCha20 keystream, the one that `counter` numbers (RFC 8439, section
/// 2.3): for QUIC's header masks, OpenSSH's lengths, and key derivation.
///
/// # Security
///
/// A block must serve one purpose only: as keystream of one message, or as a mask, or as a key.
///
/// # Examples
///
/// ```
/// use keyspring::chacha::{ChaCha20, block};
///
/// let mut stream = [0; 128];
/// ChaCha20::from_key(&[1; 32], &[2; 12]).write_keystream(&mut stream);
/// assert_eq!(block(&[1; 32], 1, &[2; 12]), stream[64..]);
/// ```
#[must_use]
pub fn block(key: &[u8; 32], counter: u32, nonce: &[u8; 12]) -> [u8; 64] {
    let mut block = [0; 64];
    let state = State::with_nonce_96(key, nonce, counter, 10);
    Core::new().run(&state, 0, Some(&mut block), Keystream(&mut []));
    block
}

#[cfg(test)]
mod positions;
#[cfg(test)]
mod tests;

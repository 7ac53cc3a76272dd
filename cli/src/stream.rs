//! The format of a sealed file, without the files.
//!
//! ```text
//! at     bytes   header
//!  0      16     magic, "keyspring sealed"
//! 16       1     version, 1
//! 17       1     where the key is from: 0, a key file; 1, a passphrase by Argon2id (RFC 9106) with
//!                version 0x13 and one lane
//! 18       2     passes of Argon2id, little-endian; 0 with a key file
//! 20       4     memory of Argon2id in KiB, little-endian; 0 with a key file
//! 24      16     salt of Argon2id, random
//! 40      19     nonce of the stream, random
//! 59      32     check
//! 91             chunks: 64 KiB of plaintext each, the last one shorter, if need be empty; each
//!                followed by its tag of 16 bytes
//! ```
//!
//! With the key K, 32 bytes from the file or from Argon2id, BLAKE2b-512 keyed with K over the bytes
//! before the check is the key of the stream and the check. So the header can't be altered, a wrong
//! key is known for one before the first chunk, and a file opens under one key alone, unlike the
//! cipher by itself.
//!
//! The chunks are sealed with XChaCha20-Poly1305 by STREAM (Hoang, Reyhanitabar, Rogaway and Vizár,
//! "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015): the nonce is that
//! of the header, the number of the chunk in 4 bytes, big-endian, and a byte that is 1 for the last
//! chunk. The whole header is the AAD of each. A chunk is the last one if, and only if, it is shorter
//! than 64 KiB; so a file that was cut, continued or put together from others does not open.

use core::fmt;

use aead_stream::{NewStream, StreamBE32, StreamPrimitive};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use blake2::Blake2bMac512;
use blake2::digest::{KeyInit, Mac};
use keyspring::aead::XChaCha20Poly1305;
use keyspring::crng::{self, SessionKey};
use zeroize::Zeroizing;

/// Bytes of plaintext in each chunk but the last, which has fewer.
pub const CHUNK: usize = 64 << 10;

/// Bytes that sealing adds to a chunk.
pub const TAG: usize = XChaCha20Poly1305::TAG_LEN;

/// Bytes of the header.
pub const HEADER: usize = CHECK + 32;

const MAGIC: [u8; 16] = *b"keyspring sealed";
const VERSION: u8 = 1;
/// Where the parts of the header begin.
const SALT: usize = 24;
const NONCE: usize = SALT + 16;
const CHECK: usize = NONCE + 19;

/// What opens a file.
pub enum Secret {
    /// The key itself.
    Key(SessionKey<32>),
    /// What the key is derived from, by Argon2id.
    Passphrase(Zeroizing<Vec<u8>>),
}

impl fmt::Debug for Secret {
    /// Shows the kind alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(..)",
            Self::Passphrase(_) => "Passphrase(..)",
        })
    }
}

/// What a guess at a passphrase costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in MiB.
    pub memory: u32,
    /// Passes over the memory.
    pub passes: u16,
}

impl Cost {
    /// The least that OWASP's "Password Storage Cheat Sheet" recommends.
    pub const LEAST: Self = Self { memory: 19, passes: 2 };
    /// The memory and the passes of RFC 9106, section 4, for where memory is scarce.
    pub const DEFAULT: Self = Self { memory: 64, passes: 3 };
    /// A file from a stranger shall not take more than this to be refused: some 10 s.
    pub const MOST: Self = Self { memory: 1024, passes: 10 };

    fn is_allowed(self) -> bool {
        (Self::LEAST.memory..=Self::MOST.memory).contains(&self.memory)
            && (Self::LEAST.passes..=Self::MOST.passes).contains(&self.passes)
    }
}

/// The header of a sealed file.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    bytes: [u8; HEADER],
    /// `None` if the key is from a key file.
    cost: Option<Cost>,
}

impl Header {
    /// Reads the header that a file begins with. It may still be a forged one:
    /// [`open`](Self::open) tells.
    ///
    /// # Errors
    ///
    /// [`Error::NotSealed`], [`Error::CutShort`], [`Error::Version`], or [`Error::Header`] if the key
    /// is from nowhere known or its derivation is too cheap or too expensive.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        if !file.starts_with(&MAGIC) {
            return Err(Error::NotSealed);
        }
        let bytes = *file.first_chunk::<HEADER>().ok_or(Error::CutShort)?;
        if bytes[16] != VERSION {
            return Err(Error::Version(bytes[16]));
        }
        let passes = u16::from_le_bytes([bytes[18], bytes[19]]);
        let kib = u32::from_le_bytes([bytes[20], bytes[21], bytes[22], bytes[23]]);
        let cost = match (bytes[17], Cost { memory: kib / 1024, passes }) {
            (0, Cost { passes: 0, .. }) if kib == 0 => None,
            (1, cost) if cost.is_allowed() && kib.is_multiple_of(1024) => Some(cost),
            _ => return Err(Error::Header),
        };
        Ok(Self { bytes, cost })
    }

    /// Draws the header of a new file, and the stream that seals its chunks. The cost matters to a
    /// passphrase alone.
    ///
    /// # Errors
    ///
    /// [`Error::Header`] if the cost is out of bounds, [`Error::Memory`] if there is not enough of it
    /// for Argon2id, [`Error::Entropy`].
    pub fn seal(secret: &Secret, cost: Cost) -> Result<(Self, Stream), Error> {
        let mut bytes = [0; HEADER];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16] = VERSION;
        if let Secret::Passphrase(_) = secret {
            bytes[17] = 1;
            bytes[18..20].copy_from_slice(&cost.passes.to_le_bytes());
            bytes[20..24].copy_from_slice(&cost.memory.saturating_mul(1024).to_le_bytes());
        }
        crng::try_fill(&mut bytes[SALT..CHECK]).map_err(Error::Entropy)?;
        let mut header = Self::parse(&bytes)?;
        let (key, check) = header.derive(secret)?;
        header.bytes[CHECK..].copy_from_slice(check.as_bytes());
        Ok((header, header.stream(&key)))
    }

    /// Gives the stream that opens the chunks of this file.
    ///
    /// # Errors
    ///
    /// [`Error::Secret`] if the file was sealed with the other kind of secret, [`Error::WrongKey`],
    /// [`Error::Memory`] if there is not enough of it for Argon2id.
    pub fn open(&self, secret: &Secret) -> Result<Stream, Error> {
        let (key, check) = self.derive(secret)?;
        // In constant time, as session keys are compared.
        if SessionKey::try_from(&self.bytes[CHECK..]) != Ok(check) {
            return Err(Error::WrongKey);
        }
        Ok(self.stream(&key))
    }

    /// The bytes that stand at the front of the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; HEADER] {
        &self.bytes
    }

    /// Whether the file is sealed with a passphrase.
    #[must_use]
    pub fn has_passphrase(&self) -> bool {
        self.cost.is_some()
    }

    /// The key of the stream, and the check.
    fn derive(&self, secret: &Secret) -> Result<(SessionKey<32>, SessionKey<32>), Error> {
        let derived;
        let key = match (secret, self.cost) {
            (Secret::Key(key), None) => key,
            (Secret::Passphrase(passphrase), Some(cost)) => {
                derived = argon2id(passphrase, &self.bytes[SALT..NONCE], cost)?;
                &derived
            }
            _ => return Err(Error::Secret),
        };
        let mac = Blake2bMac512::new_from_slice(key.as_bytes()).expect("32 bytes are a key");
        let output = mac.chain_update(&self.bytes[..CHECK]).finalize().into_bytes();
        let mut halves = SessionKey::<64>::from(output.0).split();
        let mut half = || halves.next().expect("64 bytes are twice 32");
        Ok((half(), half()))
    }

    fn stream(&self, key: &SessionKey<32>) -> Stream {
        let nonce = self.bytes[NONCE..CHECK].try_into().expect("19 bytes");
        let cipher = XChaCha20Poly1305::from_key(key.as_bytes());
        Stream { stream: StreamBE32::from_aead(cipher, nonce), chunks: 0, header: self.bytes }
    }
}

/// Argon2id with memory that is asked for with care and wiped.
fn argon2id(passphrase: &[u8], salt: &[u8], cost: Cost) -> Result<SessionKey<32>, Error> {
    let params = Params::new(cost.memory * 1024, cost.passes.into(), 1, Some(32));
    let params = params.expect("the cost is in bounds");
    let mut memory = Zeroizing::new(Vec::new());
    memory.try_reserve_exact(params.block_count()).map_err(|_| Error::Memory(cost.memory))?;
    memory.resize(params.block_count(), Block::new());
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(passphrase, salt, &mut *key, &mut **memory)
        .expect("passphrase, salt and key are of lengths that Argon2 takes");
    Ok(SessionKey::from(*key))
}

/// Seals or opens chunk after chunk; the key is wiped on drop.
#[derive(Debug)]
pub struct Stream {
    stream: StreamBE32<XChaCha20Poly1305>,
    /// How many chunks have gone by.
    chunks: u64,
    header: [u8; HEADER],
}

impl Stream {
    /// Seals the next chunk in place and appends its tag. One that is shorter than [`CHUNK`] is the
    /// last: nothing may follow it.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] after 2^32 chunks.
    ///
    /// # Panics
    ///
    /// If the chunk is longer than [`CHUNK`].
    pub fn seal(&mut self, chunk: &mut Vec<u8>) -> Result<(), Error> {
        assert!(chunk.len() <= CHUNK, "a chunk of {} bytes", chunk.len());
        let last = chunk.len() < CHUNK;
        let number = self.next()?;
        self.stream.encrypt_in_place(number, last, &self.header, chunk).map_err(|_| Error::TooLong)
    }

    /// Opens the next chunk in place and takes its tag off. One that is shorter than [`CHUNK`] and
    /// [`TAG`] together is the last; where the file ends without one, an empty chunk stands for it.
    ///
    /// # Errors
    ///
    /// [`Error::CutShort`] if not even a tag is there, [`Error::Chunk`] if the chunk is not what was
    /// sealed at this place, [`Error::TooLong`] after 2^32 chunks. The chunk stays as it was.
    ///
    /// # Panics
    ///
    /// If the chunk is longer than [`CHUNK`] and [`TAG`].
    pub fn open(&mut self, chunk: &mut Vec<u8>) -> Result<(), Error> {
        assert!(chunk.len() <= CHUNK + TAG, "a chunk of {} bytes", chunk.len());
        if chunk.len() < TAG {
            return Err(Error::CutShort);
        }
        let last = chunk.len() < CHUNK + TAG;
        let number = self.next()?;
        self.stream
            .decrypt_in_place(number, last, &self.header, chunk)
            .map_err(|_| Error::Chunk(number))
    }

    fn next(&mut self) -> Result<u32, Error> {
        let number = u32::try_from(self.chunks).map_err(|_| Error::TooLong)?;
        self.chunks += 1;
        Ok(number)
    }
}

/// Why a file can't be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The magic is missing.
    NotSealed,
    /// A version of the format that is not known.
    Version(u8),
    /// A header that no version 1 has.
    Header,
    /// A passphrase for a file that wants a key, or a key for one that wants a passphrase.
    Secret,
    /// The secret is wrong, or the header is not the one that was sealed with it.
    WrongKey,
    /// The chunk of this number, from 0, is not what was sealed at this place.
    Chunk(u32),
    /// The last chunk is missing.
    CutShort,
    /// More than 2^32 chunks, 256 TiB.
    TooLong,
    /// So many MiB are not to be had.
    Memory(u32),
    /// There are no random bytes.
    Entropy(crng::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSealed => f.write_str("this is no file that keyspring sealed"),
            Self::Version(version) => write!(f, "version {version} of the format is not known"),
            Self::Header => f.write_str("the header is damaged or asks for too much"),
            Self::Secret => f.write_str("it was not sealed with this kind of key"),
            Self::WrongKey => f.write_str("the key is wrong, or the header is damaged"),
            Self::Chunk(number) => {
                let at = HEADER as u64 + u64::from(*number) * (CHUNK + TAG) as u64;
                write!(f, "damaged, cut short or continued from byte {at} on")
            }
            Self::CutShort => f.write_str("cut short: the end is missing"),
            Self::TooLong => f.write_str("longer than 256 TiB"),
            Self::Memory(mib) => write!(f, "no {mib} MiB of memory for the passphrase"),
            Self::Entropy(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

//! The peers, one file each, and the table of them.
//!
//! A new peer is a file here with a `peer()` function, its `mod` line, and its row in [`TABLE`];
//! one that might not build everywhere gets a feature in `Cargo.toml` as well.

use crate::traits::{Aead, ChaCha20, Poly1305, Random};

#[cfg(feature = "aws-lc")]
mod aws_lc;
#[cfg(feature = "dryoc")]
mod dryoc;
#[cfg(feature = "graviola")]
mod graviola;
mod keyspring;
#[cfg(feature = "libgcrypt")]
mod libgcrypt;
#[cfg(feature = "libsodium")]
mod libsodium;
#[cfg(feature = "openssl")]
mod openssl;
mod os;
#[cfg(feature = "rand")]
mod rand;
#[cfg(feature = "ring")]
mod ring;
#[cfg(feature = "rust-crypto")]
mod rust_crypto;

/// Every peer that was compiled in, ours first: what its column is called, and how to start it.
pub const TABLE: &[(&str, Start)] = &[
    (OURS, keyspring::peer),
    #[cfg(feature = "aws-lc")]
    ("aws-lc-rs", aws_lc::peer),
    #[cfg(feature = "ring")]
    ("ring", ring::peer),
    #[cfg(feature = "openssl")]
    ("OpenSSL", openssl::peer),
    #[cfg(feature = "libsodium")]
    ("libsodium", libsodium::peer),
    #[cfg(feature = "libgcrypt")]
    ("libgcrypt", libgcrypt::peer),
    #[cfg(feature = "rust-crypto")]
    ("RustCrypto", rust_crypto::peer),
    #[cfg(feature = "dryoc")]
    ("dryoc", dryoc::peer),
    #[cfg(feature = "graviola")]
    ("graviola", graviola::peer),
    #[cfg(feature = "rand")]
    ("rand", rand::peer),
    ("kernel", os::peer),
];

/// Starts a library and tells what it offers.
pub type Start = fn() -> Peer;

/// How the names of our own candidates begin.
pub const OURS: &str = "keyspring";

/// One library and what it offers.
#[derive(Default)]
pub struct Peer {
    /// What its column is called: its name in [`TABLE`].
    pub name: &'static str,
    /// Its version, as itself or the lock file tells it.
    pub version: String,
    /// The stream cipher, if the library lets users have it.
    pub chacha20: Option<Box<dyn ChaCha20>>,
    /// The authenticator alone, if the library lets users have it.
    pub poly1305: Option<Box<dyn Poly1305>>,
    /// The AEAD.
    pub aead: Option<Box<dyn Aead>>,
    /// Its sources of random bytes.
    pub random: Vec<Source>,
    /// What this machine lacks for the rest of it; worth a note, but no error.
    pub lacking: Option<&'static str>,
}

/// One source of random bytes.
pub struct Source {
    /// What its column is called.
    pub name: &'static str,
    /// The generator, its rounds, and what it erases.
    pub about: &'static str,
    /// The source itself.
    pub random: Box<dyn Random>,
}

/// The version of a crate in this package's lock file.
fn locked_version(name: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    lock.split_once(&format!("name = \"{name}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("unknown")
}

//! Envelope encryption: each document has a key of its own, which travels with it, sealed under a
//! master key. To change the master key, only the small envelopes are sealed anew.
//!
//! `cargo run --example envelope`

use keyspring::aead::{Error, XChaCha20Poly1305};
use keyspring::crng::{self, SessionKey};

/// What is stored: neither part says anything without the master key.
struct Stored {
    /// The document's key, under the master key: nonce, ciphertext and tag.
    envelope: Vec<u8>,
    /// The document under its key: the same.
    body: Vec<u8>,
}

/// Seals a document. Its name is authenticated in both parts, so that none can be put in the place
/// of another's.
fn seal(master: &XChaCha20Poly1305, name: &str, document: &[u8]) -> Result<Stored, Error> {
    let key = crng::key::<32>();
    // 24 random bytes of nonce never repeat, however many documents there are.
    let envelope = master.seal_with_random_nonce(name.as_bytes(), key.as_bytes())?;
    let cipher = XChaCha20Poly1305::from_key(key.as_bytes());
    let body = cipher.seal_with_random_nonce(name.as_bytes(), document)?;
    Ok(Stored { envelope, body })
}

fn open(master: &XChaCha20Poly1305, name: &str, stored: &Stored) -> Result<Vec<u8>, Error> {
    let cipher = XChaCha20Poly1305::from_key(open_key(master, name, stored)?.as_bytes());
    cipher.open_with_nonce(name.as_bytes(), &stored.body)
}

fn open_key(
    master: &XChaCha20Poly1305,
    name: &str,
    stored: &Stored,
) -> Result<SessionKey<32>, Error> {
    let key = master.open_with_nonce(name.as_bytes(), &stored.envelope)?;
    Ok(SessionKey::try_from(key.as_slice()).expect("32 bytes were sealed"))
}

fn main() -> Result<(), Error> {
    let master = XChaCha20Poly1305::from_key(crng::key().as_bytes());
    let mut stored = seal(&master, "plan", b"attack at dawn")?;
    assert_eq!(open(&master, "plan", &stored)?, b"attack at dawn");
    assert!(open(&master, "menu", &stored).is_err(), "under another name");

    // A new master key: the body stays as it is.
    let successor = XChaCha20Poly1305::from_key(crng::key().as_bytes());
    let key = open_key(&master, "plan", &stored)?;
    stored.envelope = successor.seal_with_random_nonce(b"plan", key.as_bytes())?;
    assert_eq!(open(&successor, "plan", &stored)?, b"attack at dawn");
    assert!(open(&master, "plan", &stored).is_err(), "the old master key opens it no longer");

    println!("envelope: {} bytes, body: {} bytes", stored.envelope.len(), stored.body.len());
    Ok(())
}

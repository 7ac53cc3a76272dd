//! A program for the `chacha20poly1305` crate with its two `use` lines changed, and nothing else.
//!
//! `cargo run --example drop_in`

// use chacha20poly1305::aead::{Aead, AeadInOut, Generate, Payload};
// use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit, Nonce};
use keyspring::aead::aead::{Aead, AeadInOut, Generate, Payload};
use keyspring::aead::{ChaCha20Poly1305, Key, KeyInit, Nonce};

fn main() -> Result<(), keyspring::aead::aead::Error> {
    let key = Key::generate();
    let cipher = ChaCha20Poly1305::new(&key);

    let nonce = Nonce::generate(); // 96 bits: count them instead if there are many messages
    let sealed = cipher.encrypt(&nonce, Payload { msg: b"attack at dawn", aad: b"to: north" })?;
    let opened = cipher.decrypt(&nonce, Payload { msg: &sealed, aad: b"to: north" })?;
    assert_eq!(opened, b"attack at dawn");

    let mut buffer = b"retreat at dusk".to_vec();
    cipher.encrypt_in_place(&Nonce::generate(), b"", &mut buffer)?;
    println!("{} bytes sealed, {} more in place", sealed.len(), buffer.len());
    Ok(())
}

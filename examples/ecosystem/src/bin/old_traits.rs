//! Code that is generic over the traits of `aead` 0.5: the STREAM construction of that crate. What
//! it seals over keyspring, it opens over `chacha20poly1305` 0.10, and the other way round.

use aead::consts::{U19, U24, U32};
use aead::generic_array::GenericArray;
use aead::stream::{DecryptorBE32, EncryptorBE32};
use aead::{AeadInPlace, Error, KeyInit};
use keyspring::crng;

/// 24 bytes of nonce, less the five in which STREAM counts.
type Nonce = GenericArray<u8, U19>;

/// A cipher of the old traits, with the sizes of XChaCha20-Poly1305.
trait Cipher: AeadInPlace<NonceSize = U24> + KeyInit<KeySize = U32> {}

impl<T: AeadInPlace<NonceSize = U24> + KeyInit<KeySize = U32>> Cipher for T {}

/// Seals the pieces of a message, each with its place and whether it is the last.
fn seal<C: Cipher>(key: &[u8; 32], nonce: &Nonce, pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
    let mut encryptor = EncryptorBE32::<C>::new(key.into(), nonce);
    let (last, pieces) = pieces.split_last().ok_or(Error)?;
    let mut sealed = Vec::new();
    for piece in pieces {
        sealed.push(encryptor.encrypt_next(*piece)?);
    }
    sealed.push(encryptor.encrypt_last(*last)?);
    Ok(sealed)
}

/// Opens the pieces and joins them.
fn open<C: Cipher>(key: &[u8; 32], nonce: &Nonce, sealed: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let mut decryptor = DecryptorBE32::<C>::new(key.into(), nonce);
    let (last, pieces) = sealed.split_last().ok_or(Error)?;
    let mut message = Vec::new();
    for piece in pieces {
        message.extend(decryptor.decrypt_next(piece.as_slice())?);
    }
    message.extend(decryptor.decrypt_last(last.as_slice())?);
    Ok(message)
}

fn main() -> Result<(), Error> {
    type Ours = keyspring::aead::XChaCha20Poly1305;
    type Theirs = chacha20poly1305::XChaCha20Poly1305;

    let (key, nonce) = (crng::key::<32>(), Nonce::from(crng::bytes()));
    let pieces: [&[u8]; 3] = [b"attack ", b"at ", b"dawn"];
    let sealed = seal::<Ours>(key.as_bytes(), &nonce, &pieces)?;
    assert_eq!(sealed, seal::<Theirs>(key.as_bytes(), &nonce, &pieces)?);
    assert_eq!(open::<Theirs>(key.as_bytes(), &nonce, &sealed)?, b"attack at dawn");
    assert_eq!(open::<Ours>(key.as_bytes(), &nonce, &sealed)?, b"attack at dawn");
    // Without its end, a message is no message.
    open::<Ours>(key.as_bytes(), &nonce, &sealed[..2]).expect_err("the last piece is missing");
    println!("old traits: STREAM gives the same bytes as over chacha20poly1305 0.10");
    Ok(())
}

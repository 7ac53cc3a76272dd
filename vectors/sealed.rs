//! The AEADs: a message goes through every entry point, there and back, and so do its forgeries.

use keyspring::aead::aead::inout::InOutBuf;
use keyspring::aead::aead::{Aead, AeadInOut, KeyInit, Payload};
use keyspring::aead::{ChaCha20Poly1305, Packet, XChaCha20Poly1305};

use crate::Place;
use crate::file::Vector;

/// Bytes in a tag, which stands behind the ciphertext.
const TAG: usize = 16;

/// A cipher of this crate, whatever the length of its nonce.
pub(crate) trait Cipher: Sized + 'static {
    const ENTRY_POINTS: &'static [EntryPoint<Self>];
}

/// One way to make a cipher, to seal with it, and to open.
pub(crate) struct EntryPoint<C> {
    name: &'static str,
    cipher: fn(key: &[u8; 32]) -> C,
    seal: Seal<C>,
    open: Open<C>,
}

/// Takes a nonce, AAD and a plaintext; returns the ciphertext and the tag behind it.
type Seal<C> = fn(&C, &[u8], &[u8], &[u8]) -> Vec<u8>;

/// Takes a nonce, AAD and what [`Seal`] returns; returns the plaintext.
type Open<C> = fn(&C, &[u8], &[u8], &[u8]) -> Result<Vec<u8>, Refusal>;

/// What an entry point that refused a message left in the caller's buffer.
pub(crate) enum Refusal {
    /// The caller's buffer held the message; what it holds now, and the tag behind it.
    InPlace(Vec<u8>),
    /// The plaintext would have gone to a buffer of its own; what that one holds now.
    OutOfPlace(Vec<u8>),
    /// There is no buffer to look at.
    NoBuffer,
}

macro_rules! cipher {
    ($cipher:ty) => {
        impl Cipher for $cipher {
            const ENTRY_POINTS: &'static [EntryPoint<Self>] = &[
                EntryPoint {
                    name: "seal_in_place, open_in_place",
                    cipher: Self::from_key,
                    seal: |cipher, nonce, aad, plaintext| {
                        let mut in_out = plaintext.to_vec();
                        let tag = cipher.seal_in_place(fixed(nonce), aad, &mut in_out).unwrap();
                        [in_out.as_slice(), &tag].concat()
                    },
                    open: |cipher, nonce, aad, sealed| {
                        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
                        let mut in_out = ciphertext.to_vec();
                        match cipher.open_in_place(fixed(nonce), aad, &mut in_out, tag) {
                            Ok(()) => Ok(in_out),
                            Err(_) => Err(Refusal::InPlace([in_out.as_slice(), tag].concat())),
                        }
                    },
                },
                EntryPoint {
                    name: "seal_into, open_into",
                    cipher: Self::from_key,
                    seal: |cipher, nonce, aad, plaintext| {
                        let mut out = vec![0xa5; plaintext.len() + TAG];
                        cipher.seal_into(fixed(nonce), aad, plaintext, &mut out).unwrap();
                        out
                    },
                    open: |cipher, nonce, aad, sealed| {
                        let mut out = vec![0xa5; sealed.len() - TAG];
                        match cipher.open_into(fixed(nonce), aad, sealed, &mut out) {
                            Ok(()) => Ok(out),
                            Err(_) => Err(Refusal::OutOfPlace(out)),
                        }
                    },
                },
                EntryPoint {
                    name: "seal_gather, open",
                    cipher: Self::from_key,
                    seal: |cipher, nonce, aad, plaintext| {
                        let aad = aad.split_at(aad.len() / 3);
                        let parts = plaintext.split_at(plaintext.len() / 3);
                        let mut out = vec![0xa5; plaintext.len() + TAG];
                        cipher
                            .seal_gather(
                                fixed(nonce),
                                &[aad.0, aad.1],
                                &[parts.0, parts.1],
                                &mut out,
                            )
                            .unwrap();
                        out
                    },
                    open: |cipher, nonce, aad, sealed| {
                        cipher.open(fixed(nonce), aad, sealed).map_err(|_| Refusal::NoBuffer)
                    },
                },
                EntryPoint {
                    name: "seal, open",
                    cipher: Self::from_key,
                    seal: |cipher, nonce, aad, plaintext| {
                        cipher.seal(fixed(nonce), aad, plaintext).unwrap()
                    },
                    open: |cipher, nonce, aad, sealed| {
                        cipher.open(fixed(nonce), aad, sealed).map_err(|_| Refusal::NoBuffer)
                    },
                },
                EntryPoint {
                    name: "seal_batch, open_batch",
                    cipher: Self::from_key,
                    seal: |cipher, nonce, aad, plaintext| {
                        let mut copies = [(); BATCH].map(|()| plaintext.to_vec());
                        let mut packets = batch(&mut copies, nonce, aad, &[0; TAG]);
                        cipher.seal_batch(&mut packets).unwrap();
                        let sealed = packets.map(|packet| [&*packet.in_out, &packet.tag].concat());
                        all_the_same(sealed)
                    },
                    open: |cipher, nonce, aad, sealed| {
                        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
                        let mut copies = [(); BATCH].map(|()| ciphertext.to_vec());
                        let mut ok = [false; BATCH];
                        let mut packets = batch(&mut copies, nonce, aad, tag);
                        let opened = cipher.open_batch(&mut packets, &mut ok).unwrap();
                        let left = all_the_same(copies);
                        match opened {
                            BATCH => Ok(left),
                            _ => Err(Refusal::InPlace([left.as_slice(), tag].concat())),
                        }
                    },
                },
                EntryPoint {
                    name: "Aead::encrypt, Aead::decrypt",
                    cipher: |key| KeyInit::new(key.into()),
                    seal: |cipher, nonce, aad, plaintext| {
                        cipher.encrypt(fixed(nonce), Payload { msg: plaintext, aad }).unwrap()
                    },
                    open: |cipher, nonce, aad, sealed| {
                        cipher
                            .decrypt(fixed(nonce), Payload { msg: sealed, aad })
                            .map_err(|_| Refusal::NoBuffer)
                    },
                },
                EntryPoint {
                    name: "AeadInOut::encrypt_in_place, decrypt_in_place",
                    cipher: |key| KeyInit::new(key.into()),
                    seal: |cipher, nonce, aad, plaintext| {
                        let mut in_out = plaintext.to_vec();
                        cipher.encrypt_in_place(fixed(nonce), aad, &mut in_out).unwrap();
                        in_out
                    },
                    open: |cipher, nonce, aad, sealed| {
                        let mut in_out = sealed.to_vec();
                        match cipher.decrypt_in_place(fixed(nonce), aad, &mut in_out) {
                            Ok(()) => Ok(in_out),
                            Err(_) => Err(Refusal::InPlace(in_out)),
                        }
                    },
                },
                EntryPoint {
                    name: "AeadInOut::encrypt_inout_detached, decrypt_inout_detached",
                    cipher: |key| KeyInit::new(key.into()),
                    seal: |cipher, nonce, aad, plaintext| {
                        let mut out = vec![0xa5; plaintext.len()];
                        let buffers = InOutBuf::new(plaintext, &mut out).unwrap();
                        let tag =
                            cipher.encrypt_inout_detached(fixed(nonce), aad, buffers).unwrap();
                        [out.as_slice(), &tag].concat()
                    },
                    open: |cipher, nonce, aad, sealed| {
                        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
                        let mut out = vec![0xa5; ciphertext.len()];
                        let buffers = InOutBuf::new(ciphertext, &mut out).unwrap();
                        let nonce = fixed(nonce);
                        match cipher.decrypt_inout_detached(nonce, aad, buffers, tag.into()) {
                            Ok(()) => Ok(out),
                            Err(_) => Err(Refusal::OutOfPlace(out)),
                        }
                    },
                },
            ];
        }
    };
}

cipher!(ChaCha20Poly1305);
cipher!(XChaCha20Poly1305);

/// So many copies of a message make a batch that is worked on side by side.
const BATCH: usize = 5;

/// A batch of one message again and again. (A sender must never use a nonce twice.)
fn batch<'a, const N: usize>(
    copies: &'a mut [Vec<u8>; BATCH],
    nonce: &[u8],
    aad: &'a [u8],
    tag: &[u8; TAG],
) -> [Packet<'a, N>; BATCH] {
    let nonce = nonce.try_into().expect("a nonce of the cipher's length");
    copies.each_mut().map(|in_out| Packet { nonce, aad, in_out, tag: *tag })
}

/// What became of all, if it is the same.
fn all_the_same(copies: [Vec<u8>; BATCH]) -> Vec<u8> {
    assert!(
        copies.iter().all(|copy| *copy == copies[0]),
        "a batch made different things of copies"
    );
    copies.into_iter().next().expect("there are some")
}

/// The nonce as the array of fixed length that an entry point takes.
fn fixed<'a, A: TryFrom<&'a [u8]>>(nonce: &'a [u8]) -> A {
    A::try_from(nonce).ok().expect("a nonce of the cipher's length")
}

/// A message as its receiver sees it.
pub(crate) struct Message {
    pub(crate) key: Vec<u8>,
    pub(crate) nonce: Vec<u8>,
    pub(crate) aad: Vec<u8>,
    /// The ciphertext and the tag behind it.
    pub(crate) sealed: Vec<u8>,
}

/// Checks a vector, and its forgeries: one bit flipped in each byte of the key, the nonce, the AAD,
/// the ciphertext and the tag, one at a time. Returns how many of those were refused.
pub(crate) fn check<C: Cipher>(vector: &Vector<'_>, place: Place<'_>) -> usize {
    let mut message = Message {
        key: vector.bytes("key"),
        nonce: vector.bytes("nonce"),
        aad: vector.bytes("aad"),
        sealed: [vector.bytes("ciphertext"), vector.bytes("tag")].concat(),
    };
    seals_and_opens::<C>(&message, &vector.bytes("plaintext"), place);

    let mut refused = 0;
    let fields: [fn(&mut Message) -> &mut Vec<u8>; 4] =
        [|m| &mut m.key, |m| &mut m.nonce, |m| &mut m.aad, |m| &mut m.sealed];
    for field in fields {
        for at in 0..field(&mut message).len() {
            let bit = 1 << (at % 8);
            field(&mut message)[at] ^= bit;
            is_refused::<C>(&message, place);
            field(&mut message)[at] ^= bit;
            refused += 1;
        }
    }
    refused
}

/// Fails unless every entry point seals `plaintext` to `message`, and opens it again.
pub(crate) fn seals_and_opens<C: Cipher>(message: &Message, plaintext: &[u8], place: Place<'_>) {
    let Message { key, nonce, aad, sealed } = message;
    for entry in C::ENTRY_POINTS {
        let cipher = (entry.cipher)(fixed(key));
        place.same(entry.name, &(entry.seal)(&cipher, nonce, aad, plaintext), sealed);
        match (entry.open)(&cipher, nonce, aad, sealed) {
            Ok(opened) => place.same(entry.name, &opened, plaintext),
            Err(_) => place.fail(&format!("{}: refuses a good message", entry.name)),
        }
    }
}

/// Fails unless every entry point refuses `message` and leaves behind what it ought to: in place
/// the message as it was, out of place zeros.
pub(crate) fn is_refused<C: Cipher>(message: &Message, place: Place<'_>) {
    let Message { key, nonce, aad, sealed } = message;
    for entry in C::ENTRY_POINTS {
        let cipher = (entry.cipher)(fixed(key));
        let what = format!("{}: after a refusal", entry.name);
        match (entry.open)(&cipher, nonce, aad, sealed) {
            Ok(_) => place.fail(&format!("{}: opens a forgery", entry.name)),
            Err(Refusal::InPlace(left)) => place.same(&what, &left, sealed),
            Err(Refusal::OutOfPlace(left)) => {
                place.same(&what, &left, &vec![0; sealed.len() - TAG]);
            }
            Err(Refusal::NoBuffer) => {}
        }
    }
}

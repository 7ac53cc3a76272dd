//! The AEADs: a message goes through every entry point, there and back, and so do its forgeries.

use core::ops::ControlFlow;

use keyspring::aead::aead::inout::InOutBuf;
use keyspring::aead::aead::{Aead, AeadInOut, KeyInit, Payload};
use keyspring::aead::aead_05::{self, AeadInPlace};
use keyspring::aead::{
    ChaCha20Poly1305, NonceSequence, Opener, Packet, Sealer, XChaCha20Poly1305, open_batch_keyed,
    seal_batch_keyed,
};

use crate::Place;
use crate::file::Vector;

/// Bytes in a tag, which stands behind the ciphertext.
const TAG: usize = 16;

/// A cipher of this crate, whatever the length of its nonce.
pub(crate) trait Cipher {
    const ENTRY_POINTS: &'static [EntryPoint];
}

/// One way to seal, and to open.
pub(crate) struct EntryPoint {
    name: &'static str,
    seal: Seal,
    open: Open,
}

/// Takes a key, a nonce, AAD and a plaintext; returns the ciphertext and the tag behind it.
type Seal = fn(&[u8; 32], &[u8], &[u8], &[u8]) -> Vec<u8>;

/// Takes a key, a nonce, AAD and what [`Seal`] returns; returns the plaintext.
type Open = fn(&[u8; 32], &[u8], &[u8], &[u8]) -> Result<Vec<u8>, Refusal>;

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
    ($cipher:ty $(, $more:expr)*) => {
        impl Cipher for $cipher {
            const ENTRY_POINTS: &'static [EntryPoint] = &[
                EntryPoint {
                    name: "seal_in_place, open_in_place",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = Self::from_key(key);
                        let mut in_out = plaintext.to_vec();
                        let tag = cipher.seal_in_place(fixed(nonce), aad, &mut in_out).unwrap();
                        [in_out.as_slice(), &tag].concat()
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = Self::from_key(key);
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
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = Self::from_key(key);
                        let mut out = vec![0xa5; plaintext.len() + TAG];
                        cipher.seal_into(fixed(nonce), aad, plaintext, &mut out).unwrap();
                        out
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = Self::from_key(key);
                        let mut out = vec![0xa5; sealed.len() - TAG];
                        match cipher.open_into(fixed(nonce), aad, sealed, &mut out) {
                            Ok(()) => Ok(out),
                            Err(_) => Err(Refusal::OutOfPlace(out)),
                        }
                    },
                },
                EntryPoint {
                    name: "seal_gather, open",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = Self::from_key(key);
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
                    open: |key, nonce, aad, sealed| {
                        let cipher = Self::from_key(key);
                        cipher.open(fixed(nonce), aad, sealed).map_err(|_| Refusal::NoBuffer)
                    },
                },
                EntryPoint {
                    name: "seal, open",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = Self::from_key(key);
                        cipher.seal(fixed(nonce), aad, plaintext).unwrap()
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = Self::from_key(key);
                        cipher.open(fixed(nonce), aad, sealed).map_err(|_| Refusal::NoBuffer)
                    },
                },
                EntryPoint {
                    name: "seal_batch, open_batch",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = Self::from_key(key);
                        let mut copies = [(); BATCH].map(|()| plaintext.to_vec());
                        let mut packets = batch(&mut copies, nonce, aad, &[0; TAG]);
                        cipher.seal_batch(&mut packets).unwrap();
                        let sealed = packets.map(|packet| [&*packet.in_out, &packet.tag].concat());
                        all_the_same(sealed)
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = Self::from_key(key);
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
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = <Self as KeyInit>::new(key.into());
                        cipher.encrypt(fixed(nonce), Payload { msg: plaintext, aad }).unwrap()
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = <Self as KeyInit>::new(key.into());
                        cipher
                            .decrypt(fixed(nonce), Payload { msg: sealed, aad })
                            .map_err(|_| Refusal::NoBuffer)
                    },
                },
                EntryPoint {
                    name: "AeadInOut::encrypt_in_place, decrypt_in_place",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = <Self as KeyInit>::new(key.into());
                        let mut in_out = plaintext.to_vec();
                        AeadInOut::encrypt_in_place(&cipher, fixed(nonce), aad, &mut in_out).unwrap();
                        in_out
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = <Self as KeyInit>::new(key.into());
                        let mut in_out = sealed.to_vec();
                        match AeadInOut::decrypt_in_place(&cipher, fixed(nonce), aad, &mut in_out) {
                            Ok(()) => Ok(in_out),
                            Err(_) => Err(Refusal::InPlace(in_out)),
                        }
                    },
                },
                EntryPoint {
                    name: "AeadInOut::encrypt_inout_detached, decrypt_inout_detached",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = <Self as KeyInit>::new(key.into());
                        let mut out = vec![0xa5; plaintext.len()];
                        let buffers = InOutBuf::new(plaintext, &mut out).unwrap();
                        let tag =
                            cipher.encrypt_inout_detached(fixed(nonce), aad, buffers).unwrap();
                        [out.as_slice(), &tag].concat()
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = <Self as KeyInit>::new(key.into());
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
                EntryPoint {
                    name: "seal_in_place_with, open_in_place_with",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = Self::from_key(key);
                        let (nonce, mut in_out) = (fixed(nonce), plaintext.to_vec());
                        let tag = cipher.seal_in_place_with(nonce, aad, &mut in_out, go_on);
                        [in_out.as_slice(), &tag.unwrap().continue_value().unwrap()].concat()
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = Self::from_key(key);
                        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
                        let (nonce, mut in_out) = (fixed(nonce), ciphertext.to_vec());
                        match cipher.open_in_place_with(nonce, aad, &mut in_out, tag, go_on) {
                            Ok(ControlFlow::Continue(())) => Ok(in_out),
                            _ => Err(Refusal::InPlace([in_out.as_slice(), tag].concat())),
                        }
                    },
                },
                EntryPoint {
                    name: "AeadInPlace of aead 0.5",
                    seal: |key, nonce, aad, plaintext| {
                        let cipher = <Self as aead_05::KeyInit>::new(key.into());
                        let (nonce, mut in_out) = (nonce_05::<Self>(nonce), plaintext.to_vec());
                        let tag = cipher.encrypt_in_place_detached(nonce, aad, &mut in_out);
                        [in_out.as_slice(), &tag.unwrap()].concat()
                    },
                    open: |key, nonce, aad, sealed| {
                        let cipher = <Self as aead_05::KeyInit>::new(key.into());
                        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
                        let (nonce, mut in_out) = (nonce_05::<Self>(nonce), ciphertext.to_vec());
                        match cipher.decrypt_in_place_detached(nonce, aad, &mut in_out, tag.into()) {
                            Ok(()) => Ok(in_out),
                            Err(_) => Err(Refusal::InPlace([in_out.as_slice(), tag].concat())),
                        }
                    },
                },
                $($more,)*
            ];
        }
    };
}

cipher!(ChaCha20Poly1305, KEYED_BATCH, SEQUENCE);
cipher!(XChaCha20Poly1305);

/// Every other packet under another key.
const KEYED_BATCH: EntryPoint = EntryPoint {
    name: "seal_batch_keyed, open_batch_keyed",
    seal: |key, nonce, aad, plaintext| {
        let ciphers = [ChaCha20Poly1305::from_key(key), ChaCha20Poly1305::from_key(&[1; 32])];
        let mut copies = [(); BATCH].map(|()| plaintext.to_vec());
        let mut packets = keyed(&ciphers, batch(&mut copies, nonce, aad, &[0; TAG]));
        seal_batch_keyed(&mut packets).unwrap();
        let sealed = |(_, packet): &(_, Packet<'_>)| [&*packet.in_out, &packet.tag].concat();
        let [first, other] = [sealed(&packets[0]), sealed(&packets[1])];
        assert_ne!(first, other, "two keys");
        assert!(packets.iter().step_by(2).all(|packet| sealed(packet) == first));
        first
    },
    open: |key, nonce, aad, sealed| {
        let ciphers = [ChaCha20Poly1305::from_key(key), ChaCha20Poly1305::from_key(&[1; 32])];
        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
        let mut copies = [(); BATCH].map(|()| ciphertext.to_vec());
        let mut ok = [false; BATCH];
        let mut packets = keyed(&ciphers, batch(&mut copies, nonce, aad, tag));
        let opened = open_batch_keyed(&mut packets, &mut ok).unwrap();
        assert!(opened == ok.iter().filter(|ok| **ok).count() && !ok[1] && !ok[3]);
        assert_eq!(copies[1], ciphertext, "under the other key it is refused, and left");
        let left = copies.into_iter().next().expect("there are some");
        if ok[0] { Ok(left) } else { Err(Refusal::InPlace([left.as_slice(), tag].concat())) }
    },
};

/// The nonce is that of number 0.
const SEQUENCE: EntryPoint = EntryPoint {
    name: "Sealer, Opener",
    seal: |key, nonce, aad, plaintext| {
        let mut sealer = Sealer::new(key, NonceSequence::XorBigEndian(nonce.try_into().unwrap()));
        let mut in_out = plaintext.to_vec();
        let (_, tag) = sealer.seal_next(aad, &mut in_out).unwrap();
        [in_out.as_slice(), &tag].concat()
    },
    open: |key, nonce, aad, sealed| {
        let mut opener = Opener::new(key, NonceSequence::XorBigEndian(nonce.try_into().unwrap()));
        let (ciphertext, tag) = sealed.split_last_chunk::<TAG>().unwrap();
        let mut in_out = ciphertext.to_vec();
        match opener.open(0, aad, &mut in_out, tag) {
            Ok(()) => Ok(in_out),
            Err(_) => Err(Refusal::InPlace([in_out.as_slice(), tag].concat())),
        }
    },
};

/// A checkpoint that never breaks.
fn go_on(_done: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The nonce as the traits of `aead` 0.5 take it.
fn nonce_05<C: AeadInPlace>(nonce: &[u8]) -> &aead_05::Nonce<C> {
    aead_05::Nonce::<C>::from_slice(nonce)
}

/// The packets, every other one under the second key.
fn keyed<'a>(
    ciphers: &'a [ChaCha20Poly1305; 2],
    packets: [Packet<'a>; BATCH],
) -> [(&'a ChaCha20Poly1305, Packet<'a>); BATCH] {
    let mut i = 0;
    packets.map(|packet| {
        i += 1;
        (&ciphers[(i - 1) % 2], packet)
    })
}

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
        let key = fixed(key);
        place.same(entry.name, &(entry.seal)(key, nonce, aad, plaintext), sealed);
        match (entry.open)(key, nonce, aad, sealed) {
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
        let what = format!("{}: after a refusal", entry.name);
        match (entry.open)(fixed(key), nonce, aad, sealed) {
            Ok(_) => place.fail(&format!("{}: opens a forgery", entry.name)),
            Err(Refusal::InPlace(left)) => place.same(&what, &left, sealed),
            Err(Refusal::OutOfPlace(left)) => {
                place.same(&what, &left, &vec![0; sealed.len() - TAG]);
            }
            Err(Refusal::NoBuffer) => {}
        }
    }
}

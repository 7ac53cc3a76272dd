//! Stream ciphers: a vector gives the keystream from a block on, or a plaintext and its ciphertext.

use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20, block, hchacha20};

use crate::Place;
use crate::file::Vector;

/// Bytes in a ChaCha block, the unit of a vector's `counter`.
const BLOCK: usize = 64;

/// What the five ciphers have in common, whatever the length of their nonce.
pub(crate) trait Stream {
    /// The cipher under the vector's key and nonce, at its counter.
    fn at(vector: &Vector<'_>) -> Self;
    fn apply(&mut self, in_out: &mut [u8]);
    fn write(&mut self, out: &mut [u8]);
    fn position(&self) -> u64;
}

macro_rules! stream {
    ($($cipher:ty),*) => {$(
        impl Stream for $cipher {
            fn at(vector: &Vector<'_>) -> Self {
                let mut cipher = Self::from_key(&vector.array("key"), &vector.array("nonce"));
                cipher.seek_to(start(vector));
                cipher
            }

            fn apply(&mut self, in_out: &mut [u8]) {
                self.apply_keystream(in_out);
            }

            fn write(&mut self, out: &mut [u8]) {
                self.write_keystream(out);
            }

            fn position(&self) -> u64 {
                self.position()
            }
        }
    )*};
}

stream!(ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20);

/// Checks a vector in one call and in pieces.
pub(crate) fn check<C: Stream>(vector: &Vector<'_>, place: Place<'_>) {
    let (plaintext, ciphertext) = texts(vector);
    let keystream = xor(&plaintext, &ciphertext);

    let mut out = vec![0xa5; keystream.len()];
    C::at(vector).write(&mut out);
    place.same("write_keystream", &out, &keystream);

    // The pieces end inside a block, one byte to either side of its end, and past several.
    for piece in [plaintext.len(), 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7] {
        let mut cipher = C::at(vector);
        let mut in_out = plaintext.clone();
        for part in in_out.chunks_mut(piece) {
            cipher.apply(part);
        }
        place.same(&format!("apply_keystream, {piece} bytes a call"), &in_out, &ciphertext);
        if cipher.position() != start(vector) + plaintext.len() as u64 {
            place.fail(&format!("position() is {} after the last byte", cipher.position()));
        }
    }
}

/// Checks a ChaCha20 vector once more, through the block function.
pub(crate) fn check_block(vector: &Vector<'_>, place: Place<'_>) {
    let (plaintext, ciphertext) = texts(vector);
    let keystream = xor(&plaintext, &ciphertext);
    let first = u32::try_from(vector.number("counter")).expect("ChaCha20 counts to 2^32");

    for (counter, want) in (first..=u32::MAX).zip(keystream.chunks(BLOCK)) {
        let got = block(&vector.array("key"), counter, &vector.array("nonce"));
        place.same(&format!("block {counter}"), &got[..want.len()], want);
    }
}

pub(crate) fn check_hchacha20(vector: &Vector<'_>, place: Place<'_>) {
    let got = hchacha20(&vector.array("key"), &vector.array("input"));
    place.same("hchacha20", &got, &vector.bytes("output"));
}

/// The plaintext and the ciphertext; a keystream is the ciphertext of zeros.
fn texts(vector: &Vector<'_>) -> (Vec<u8>, Vec<u8>) {
    if vector.has("keystream") {
        let keystream = vector.bytes("keystream");
        (vec![0; keystream.len()], keystream)
    } else {
        (vector.bytes("plaintext"), vector.bytes("ciphertext"))
    }
}

/// The byte of the keystream at which the vector begins.
fn start(vector: &Vector<'_>) -> u64 {
    vector.number("counter") * BLOCK as u64
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    assert_eq!(a.len(), b.len(), "a stream cipher keeps the length");
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

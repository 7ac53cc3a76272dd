//! What a kernel does with its keystream: the three modes, one type each.
//!
//! | type | on entry | on exit |
//! |---|---|---|
//! | [`InPlace`] | message | message ^ keystream |
//! | [`Apart`] | source: message; destination: anything | destination: message ^ keystream |
//! | [`Keystream`] | anything | keystream |
//!
//! Kernels are generic over [`Data`], so each mode gets code of its own and no mode is tested for
//! inside a loop.

use zeroize::Zeroize;

use super::backend::{Call, Kernels};
use super::isa::Isa;

/// Where a kernel body puts its vectors.
pub(crate) trait Sink {
    /// Puts one vector of keystream to the bytes from `at` on.
    fn put_vector<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V);
}

/// A stretch of bytes that keystream is put to, from its first byte on.
pub(crate) trait Data: Sink + Sized {
    /// The same mode over a part of the bytes, for a while.
    type Window<'w>: Data
    where
        Self: 'w;

    fn len(&self) -> usize;

    /// The `len` bytes from `at` on. Where `len` is a constant, the compiler knows the window's
    /// length and drops the bounds checks inside.
    fn window(&mut self, at: usize, len: usize) -> Self::Window<'_>;

    /// The first `mid` bytes and the rest.
    fn split_at(self, mid: usize) -> (Self, Self);

    /// Puts a vector, by a mask, to as many bytes as there are from `at` on, which may lie beyond the end.
    #[inline(always)]
    fn put_part<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        let rest = self.len().saturating_sub(at);
        if rest >= I::BYTES {
            self.put_vector(isa, at, keystream);
        } else if rest > 0 {
            self.put_last(isa, at, keystream);
        }
    }

    /// Puts a vector to the bytes from `at` on, of which there are fewer than it has.
    fn put_last<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V);

    /// Puts `keystream` to as many of the first bytes, no more of them than there are.
    fn put(&mut self, keystream: &[u8]);

    /// What to read and what to write, where a block of keystream is xored to 64 bytes.
    ///
    /// # Panics
    ///
    /// If there are not 64 bytes.
    #[allow(dead_code, reason = "for a block function that is not the compiler's")]
    fn as_block(&mut self) -> (*const [u8; 64], *mut [u8; 64]);

    /// The kernel that works in this mode.
    fn kernel(kernels: &Kernels) -> Call<Self>;
}

/// Data that is a message: bytes to read besides those to write.
pub(crate) trait Message: Data {
    /// What is read; in place, what has been written once it has.
    fn input(&self) -> &[u8];

    /// What has been written.
    fn output(&self) -> &[u8];

    /// What is read if it lies apart, and what is written.
    fn parts(&mut self) -> (Option<&[u8]>, &mut [u8]);
}

/// A mode by its name alone, for the rows of the table: their kernels serve every lifetime.
pub(crate) trait Mode {
    type Data<'a>: Data;
}

/// The names of the modes.
pub(crate) mod mode {
    use super::Mode;

    #[derive(Debug)]
    pub(crate) enum InPlace {}
    #[derive(Debug)]
    pub(crate) enum Apart {}
    #[derive(Debug)]
    pub(crate) enum Keystream {}

    impl Mode for InPlace {
        type Data<'a> = super::InPlace<'a>;
    }

    impl Mode for Apart {
        type Data<'a> = super::Apart<'a>;
    }

    impl Mode for Keystream {
        type Data<'a> = super::Keystream<'a>;
    }
}

/// Xor in place.
#[derive(Debug)]
pub(crate) struct InPlace<'a>(pub(crate) &'a mut [u8]);

impl Sink for InPlace<'_> {
    #[inline(always)]
    fn put_vector<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        let message = isa.load(&self.0[at..]);
        isa.store(&mut self.0[at..], isa.xor(message, keystream));
    }
}

impl Data for InPlace<'_> {
    type Window<'w>
        = InPlace<'w>
    where
        Self: 'w;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn window(&mut self, at: usize, len: usize) -> InPlace<'_> {
        InPlace(&mut self.0[at..at + len])
    }

    #[inline(always)]
    fn split_at(self, mid: usize) -> (Self, Self) {
        let (head, tail) = self.0.split_at_mut(mid);
        (Self(head), Self(tail))
    }

    #[inline(always)]
    fn put_last<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        let bytes = &mut self.0[at..];
        isa.store_part(bytes, isa.xor(isa.load_part(bytes), keystream));
    }

    #[inline(always)]
    fn as_block(&mut self) -> (*const [u8; 64], *mut [u8; 64]) {
        let block: &mut [u8; 64] = (&mut *self.0).try_into().expect("a block");
        let block = &raw mut *block;
        (block, block)
    }

    #[inline(always)]
    fn put(&mut self, keystream: &[u8]) {
        let n = keystream.len();
        xor(&mut self.0[..n], keystream);
    }

    #[inline(always)]
    fn kernel(kernels: &Kernels) -> Call<Self> {
        kernels.in_place
    }
}

impl Message for InPlace<'_> {
    fn input(&self) -> &[u8] {
        self.0
    }

    fn output(&self) -> &[u8] {
        self.0
    }

    fn parts(&mut self) -> (Option<&[u8]>, &mut [u8]) {
        (None, self.0)
    }
}

/// Xor from a source into a destination of the same length.
#[derive(Debug)]
pub(crate) struct Apart<'a> {
    source: &'a [u8],
    destination: &'a mut [u8],
}

impl<'a> Apart<'a> {
    /// # Panics
    ///
    /// If the two lengths differ.
    pub(crate) fn new(source: &'a [u8], destination: &'a mut [u8]) -> Self {
        assert_eq!(source.len(), destination.len());
        Self { source, destination }
    }
}

impl Sink for Apart<'_> {
    #[inline(always)]
    fn put_vector<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        let message = isa.load(&self.source[at..]);
        isa.store(&mut self.destination[at..], isa.xor(message, keystream));
    }
}

impl Data for Apart<'_> {
    type Window<'w>
        = Apart<'w>
    where
        Self: 'w;

    #[inline(always)]
    fn len(&self) -> usize {
        self.destination.len()
    }

    #[inline(always)]
    fn window(&mut self, at: usize, len: usize) -> Apart<'_> {
        Apart {
            source: &self.source[at..at + len],
            destination: &mut self.destination[at..at + len],
        }
    }

    #[inline(always)]
    fn split_at(self, mid: usize) -> (Self, Self) {
        let (source_head, source_tail) = self.source.split_at(mid);
        let (head, tail) = self.destination.split_at_mut(mid);
        (
            Self { source: source_head, destination: head },
            Self { source: source_tail, destination: tail },
        )
    }

    #[inline(always)]
    fn put_last<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        let message = isa.load_part(&self.source[at..]);
        isa.store_part(&mut self.destination[at..], isa.xor(message, keystream));
    }

    #[inline(always)]
    fn as_block(&mut self) -> (*const [u8; 64], *mut [u8; 64]) {
        let source: &[u8; 64] = self.source.try_into().expect("a block");
        let destination: &mut [u8; 64] = (&mut *self.destination).try_into().expect("a block");
        (source, destination)
    }

    #[inline(always)]
    fn put(&mut self, keystream: &[u8]) {
        let n = keystream.len();
        self.destination[..n].copy_from_slice(&self.source[..n]);
        xor(&mut self.destination[..n], keystream);
    }

    #[inline(always)]
    fn kernel(kernels: &Kernels) -> Call<Self> {
        kernels.apart
    }
}

impl Message for Apart<'_> {
    fn input(&self) -> &[u8] {
        self.source
    }

    fn output(&self) -> &[u8] {
        self.destination
    }

    fn parts(&mut self) -> (Option<&[u8]>, &mut [u8]) {
        (Some(self.source), self.destination)
    }
}

/// The keystream itself.
#[derive(Debug)]
pub(crate) struct Keystream<'a>(pub(crate) &'a mut [u8]);

impl Sink for Keystream<'_> {
    #[inline(always)]
    fn put_vector<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        isa.store(&mut self.0[at..], keystream);
    }
}

impl Data for Keystream<'_> {
    type Window<'w>
        = Keystream<'w>
    where
        Self: 'w;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn window(&mut self, at: usize, len: usize) -> Keystream<'_> {
        Keystream(&mut self.0[at..at + len])
    }

    #[inline(always)]
    fn split_at(self, mid: usize) -> (Self, Self) {
        let (head, tail) = self.0.split_at_mut(mid);
        (Self(head), Self(tail))
    }

    #[inline(always)]
    fn put_last<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        isa.store_part(&mut self.0[at..], keystream);
    }

    #[inline(always)]
    fn as_block(&mut self) -> (*const [u8; 64], *mut [u8; 64]) {
        let block: &mut [u8; 64] = (&mut *self.0).try_into().expect("a block");
        // What is xored with nothing is the keystream.
        *block = [0; 64];
        let block = &raw mut *block;
        (block, block)
    }

    #[inline(always)]
    fn put(&mut self, keystream: &[u8]) {
        self.0[..keystream.len()].copy_from_slice(keystream);
    }

    #[inline(always)]
    fn kernel(kernels: &Kernels) -> Call<Self> {
        kernels.keystream
    }
}

/// A pass's place, where there are masks: the block apart, if there is one, and data for the others, of any
/// length.
#[derive(Debug)]
pub(crate) struct Parts<'a, D> {
    pub(crate) lead: Option<&'a mut [u8; 64]>,
    pub(crate) data: D,
}

impl<D: Data> Sink for Parts<'_, D> {
    #[inline(always)]
    fn put_vector<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        match &mut self.lead {
            Some(lead) if at < 64 => isa.store(&mut lead[at..], keystream),
            Some(_) => self.data.put_part(isa, at - 64, keystream),
            None => self.data.put_part(isa, at, keystream),
        }
    }
}

/// As [`Parts`], where there are no masks: what is shorter than a vector waits in a buffer for the end
/// of the pass. Its bytes could be put where they are made, but there are many such places.
#[derive(Debug)]
pub(crate) struct Pieces<'a, D> {
    pub(crate) lead: Option<&'a mut [u8; 64]>,
    pub(crate) data: D,
    last: [u8; LONGEST_VECTOR],
}

/// The bytes of the longest vector without masks.
const LONGEST_VECTOR: usize = 32;

impl<'a, D: Data> Pieces<'a, D> {
    #[inline(always)]
    pub(crate) fn new(lead: Option<&'a mut [u8; 64]>, data: D) -> Self {
        Self { lead, data, last: [0; LONGEST_VECTOR] }
    }

    /// Puts what waits.
    #[inline(always)]
    pub(crate) fn finish<I: Isa>(mut self, _isa: I) {
        let len = self.data.len();
        let rest = len % I::BYTES;
        if rest > 0 {
            self.data.window(len - rest, rest).put(&self.last[..rest]);
            self.last.zeroize();
        }
    }
}

impl<D: Data> Sink for Pieces<'_, D> {
    #[inline(always)]
    fn put_vector<I: Isa>(&mut self, isa: I, mut at: usize, keystream: I::V) {
        const { assert!(I::BYTES <= LONGEST_VECTOR) };
        if let Some(lead) = &mut self.lead {
            if at < 64 {
                return isa.store(&mut lead[at..], keystream);
            }
            at -= 64;
        }
        let len = self.data.len();
        if at + I::BYTES <= len {
            self.data.put_vector(isa, at, keystream);
        } else if at < len {
            isa.store(&mut self.last, keystream);
        }
    }
}

/// `bytes ^= keystream`, both of one length: 16 bytes at a time, then 8, 4, 2 and 1, so that no
/// tail costs a loop over bytes.
#[inline(always)]
pub(crate) fn xor(bytes: &mut [u8], keystream: &[u8]) {
    let len = bytes.len();
    let (keys, _) = keystream.as_chunks::<16>();
    for (chunk, key) in bytes.as_chunks_mut::<16>().0.iter_mut().zip(keys) {
        *chunk = (u128::from_ne_bytes(*chunk) ^ u128::from_ne_bytes(*key)).to_ne_bytes();
    }
    let mut at = len & !15;
    macro_rules! piece {
        ($word:ty, $len:literal) => {
            if len & $len != 0 {
                let piece = bytes[at..].first_chunk_mut::<$len>().expect("it has this bit");
                let key = keystream[at..].first_chunk::<$len>().expect("both have one length");
                *piece =
                    (<$word>::from_ne_bytes(*piece) ^ <$word>::from_ne_bytes(*key)).to_ne_bytes();
                at += $len;
            }
        };
    }
    piece!(u64, 8);
    piece!(u32, 4);
    piece!(u16, 2);
    if len & 1 != 0 {
        bytes[at] ^= keystream[at];
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn xor_reaches_every_byte_of_every_length() {
        for len in 0..=100 {
            let mut bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let keystream: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8 + 1).collect();
            xor(&mut bytes, &keystream);
            for (i, byte) in bytes.iter().enumerate() {
                assert_eq!(*byte, (i % 251) as u8 ^ keystream[i], "length {len}, offset {i}");
            }
        }
    }
}

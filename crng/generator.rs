//! Fast key erasure (Bernstein, 2017): ChaCha20 that overwrites its own key first.
//!
//! ```text
//! ks  = ChaCha20(key, nonce, blocks 0 ..)
//! key = ks[0..32]         the key that made this output is gone before any of it is used
//! out = ks[32..]
//! ```
//!
//! What always holds: `buffer[..position]` is zero; no byte that was handed out is anywhere in the
//! generator; no earlier key or output can be computed from it. No operating system, no allocation.

use zeroize::Zeroize;

use crate::chacha::data::Keystream;
use crate::chacha::{Core, State};

/// A key and the output that it has made so far: `OUTPUT` bytes, a multiple of 64 and 32 more, from
/// one refill.
#[derive(Clone)]
pub(super) struct Generator<const OUTPUT: usize> {
    key: [u8; 32],
    buffer: [u8; OUTPUT],
    position: usize,
    core: Core,
}

impl<const OUTPUT: usize> Generator<OUTPUT> {
    pub(super) fn new(key: [u8; 32]) -> Self {
        const { assert!(OUTPUT % 64 == 32) };
        Self { key, buffer: [0; OUTPUT], position: OUTPUT, core: Core::new() }
    }

    /// The next bytes of the stream. How a caller splits its reads does not change the bytes.
    #[inline]
    pub(super) fn fill(&mut self, dst: &mut [u8]) {
        let (head, rest) = dst.split_at_mut(dst.len().min(OUTPUT - self.position));
        self.take(head);
        // The buffer is empty, or `rest` is. As much as a refill makes goes straight to its place.
        let (whole, rest) = rest.as_chunks_mut::<OUTPUT>();
        for output in whole {
            erase_key(self.core, &mut self.key, output);
        }
        if !rest.is_empty() {
            erase_key(self.core, &mut self.key, &mut self.buffer);
            self.position = 0;
            self.take(rest);
        }
    }

    /// Hands out the next bytes of the buffer, which has as many, and erases them there.
    #[inline]
    fn take(&mut self, dst: &mut [u8]) {
        let taken = &mut self.buffer[self.position..self.position + dst.len()];
        dst.copy_from_slice(taken);
        taken.zeroize();
        self.position += dst.len();
    }
}

impl<const OUTPUT: usize> Drop for Generator<OUTPUT> {
    fn drop(&mut self) {
        self.key.as_mut_slice().zeroize();
        self.buffer.as_mut_slice().zeroize();
    }
}

/// One refill: the first half of block 0 becomes the key, all else is output.
#[inline]
fn erase_key<const OUTPUT: usize>(core: Core, key: &mut [u8; 32], out: &mut [u8; OUTPUT]) {
    let mut block = [0; 64];
    let (begin, rest) = out.split_at_mut(32);
    let state = State::with_nonce_96(key, &[0; 12], 0, 10);
    core.run(&state, 0, Some(&mut block), Keystream(rest));
    let (next, first) = block.split_at(32);
    key.copy_from_slice(next);
    begin.copy_from_slice(first);
    block.as_mut_slice().zeroize();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_out_is_erased() {
        let mut generator = Generator::<992>::new([7; 32]);
        let mut out = [0; 100];
        generator.fill(&mut out);
        assert!(out.iter().any(|byte| *byte != 0));
        assert!(generator.buffer[..100].iter().all(|byte| *byte == 0));
        assert!(generator.buffer[100..].iter().any(|byte| *byte != 0));
    }

    #[test]
    fn a_refill_erases_the_old_key() {
        let mut generator = Generator::<992>::new([7; 32]);
        generator.fill(&mut [0; 1]);
        assert_ne!(generator.key, [7; 32]);
        let key = generator.key;
        generator.fill(&mut [0; 992]);
        assert_ne!(generator.key, key);
    }
}

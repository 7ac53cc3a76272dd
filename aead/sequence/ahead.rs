//! Keystream that is made before its message is there.
//!
//! ```text
//! each = 2    | 0 1 | 0 1 | 0 1 | 0 1 | 0 1 | 0 1 | 0 1 | 0 1 |    8 messages of up to 64 bytes
//! each = 4    | 0 1 2 3 | 0 1 2 3 | 0 1 2 3 | 0 1 2 3 |            4 messages of up to 192 bytes
//! each = 8    | 0 1 2 3 4 5 6 7 | 0 1 2 3 4 5 6 7 |                2 messages of up to 448 bytes
//!               first     first + 1 ...
//! ```
//!
//! So it is where a pass has 16 blocks. It is one pass that is made at a time, whatever its length: on
//! Zen 5, with 32, there are twice as many messages, and 2 of up to 960 bytes.
//!
//! What is not there, because it has been taken or was never made, is zero.

use zeroize::Zeroize;

use super::Numbered;
use crate::chacha::batch::{Blocks, Keys, Lanes, MOST_LANES, Place};

/// Blocks of the next messages.
pub(super) struct Ahead {
    blocks: Blocks,
    /// The blocks of each message.
    each: usize,
    /// The number of the message that the first blocks belong to.
    first: u64,
    /// Bit i: the blocks of message `first + i` are there.
    there: u16,
    /// The blocks that the last message needed.
    last: usize,
}

impl Ahead {
    /// Nothing, and nothing is made for the first message: it may be the only one.
    pub(super) fn new() -> Self {
        Self { blocks: [[0; 64]; MOST_LANES], each: 1, first: 0, there: 0, last: usize::MAX }
    }

    /// Block 0 and the keystream of a message of `len` bytes, if they are there.
    pub(super) fn get(&self, number: u64, len: usize) -> Option<(&[u8; 64], &[u8])> {
        let i = self.index(number)?;
        if blocks(len) > self.each {
            return None;
        }
        let (block, keystream) = self.blocks[i * self.each..][..self.each].split_first()?;
        Some((block, &keystream.as_flattened()[..len]))
    }

    /// Makes the blocks of message `number` and those that follow it, if they are worth it: if two
    /// messages in a row are so short that several share a pass.
    pub(super) fn make(&mut self, numbered: &Numbered, number: u64, len: usize) {
        let chacha = numbered.cipher.cores.chacha;
        let pass = chacha.longest_pass();
        let blocks = blocks(len).max(self.last);
        if blocks > pass / 2 || self.index(number).is_some() {
            return;
        }
        let each = blocks.next_power_of_two().max(2);
        let count = pass / each;
        (self.each, self.first) = (each, number);
        let mut places = [Place::default(); MOST_LANES];
        for (places, i) in places[..pass].chunks_exact_mut(each).zip(0..) {
            let start = Place::start(&numbered.sequence.nonce(number.wrapping_add(i)));
            for (place, block) in places.iter_mut().zip(0..) {
                *place = start.block(block);
            }
        }
        let keys = Keys::One(&numbered.cipher.key);
        chacha.lanes(Lanes { keys, places: &places, count: pass }, &mut self.blocks);
        self.there = u16::MAX >> (16 - count);
    }

    /// Wipes the blocks of a message that is done, and takes note of its length.
    pub(super) fn done(&mut self, number: u64, len: usize) {
        self.last = blocks(len);
        if let Some(i) = self.index(number) {
            self.there &= !(1 << i);
            self.blocks[i * self.each..][..self.each].as_flattened_mut().zeroize();
        }
    }

    /// Wipes everything.
    pub(super) fn wipe(&mut self) {
        self.there = 0;
        self.blocks.as_flattened_mut().zeroize();
    }

    /// For how many messages there are blocks.
    #[cfg(test)]
    pub(super) fn made(&self) -> u32 {
        self.there.count_ones()
    }

    #[cfg(test)]
    pub(super) fn is_zero(&self) -> bool {
        self.blocks.as_flattened().iter().all(|byte| *byte == 0)
    }

    fn index(&self, number: u64) -> Option<usize> {
        let i = number.wrapping_sub(self.first);
        (i < 16 && self.there >> i & 1 == 1).then_some(i as usize)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// How many blocks a message needs, that of its Poly1305 key among them.
fn blocks(len: usize) -> usize {
    1 + len.div_ceil(64)
}

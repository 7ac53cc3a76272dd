//! Many short messages at once, each under a one-time key of its own.
//!
//! ```text
//!            step 0   step 1   step 2   step 3   step 4
//! lane 0   | zero   | zero   | aad    | text   | last   |     each lane   h = (h + m) r
//! lane 1   | aad    | aad    | text   | text   | last   |     with an r of its own
//! lane 2   | zero   | zero   | zero   | zero   | last   |
//! ```
//!
//! 1. A message is one chain of multiplications; side by side, one message to a lane, there are as
//!    many chains as lanes, and no powers of r are needed.
//! 2. Lengths may differ: a shorter message starts later, so all end in the same step. Until it
//!    starts, its lane takes in zeros without the bit above a block, and (0 + 0) r = 0.
//! 3. Blocks are read where they lie. Only the padded ends of the parts lie in a buffer.

use super::Accumulator;
use super::backend::Core;

/// A message as the AEAD has it (RFC 8439, section 2.8): two parts, each padded with zeros to whole
/// blocks, and a last block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// The one-time key: r and s.
    pub(crate) key: &'a [u8; 32],
    pub(crate) parts: [&'a [u8]; 2],
    pub(crate) last: [u8; 16],
}

impl Message<'_> {
    pub(super) fn blocks(&self) -> usize {
        self.parts.iter().map(|part| part.len().div_ceil(16)).sum::<usize>() + 1
    }

    /// The tag, without other messages beside it.
    pub(super) fn tag(&self, core: Core) -> [u8; 16] {
        let mut mac = Accumulator::new(core, self.key);
        for part in self.parts {
            mac.padded(part);
        }
        mac.blocks(&[self.last]);
        mac.tag()
    }
}

#[cfg(target_pointer_width = "64")]
pub(super) use self::lanes::tags;

#[cfg(target_pointer_width = "64")]
mod lanes {
    use core::array::from_fn;

    use zeroize::Zeroize;

    use super::Message;
    use crate::poly1305::isa::{Isa, MOST_LANES};
    use crate::poly1305::lanes::{Power, Radix, multiply, store};
    use crate::poly1305::padded;
    use crate::poly1305::scalar::{CLAMP, State};

    type Blocks = [[u8; 16]];

    /// Writes the tags of at most `LANES` messages.
    #[inline(always)]
    pub(in crate::poly1305) fn tags<I: Isa, R: Radix<I, N>, const N: usize>(
        isa: I,
        messages: &[Message<'_>],
        tags: &mut [[u8; 16]],
    ) {
        let mut steps = messages.iter().map(Message::blocks).max().unwrap_or(0);
        let mut ends = [[[0; 16]; 3]; MOST_LANES];
        for (ends, message) in ends.iter_mut().zip(messages) {
            *ends = message.ends();
        }
        let mut lanes = [const { Lane { idle: usize::MAX, runs: [&[]; 4] } }; MOST_LANES];
        for ((lane, message), ends) in lanes.iter_mut().zip(messages).zip(&ends) {
            *lane = Lane::new(message, ends, steps);
        }
        let lanes = &mut lanes[..I::LANES];

        let zero = isa.splat(0);
        let key = |half: usize| {
            isa.lanes(|lane| match messages.get(lane) {
                Some(message) => word(message.key.as_chunks().0, 0, half),
                None => 0,
            })
        };
        let clamped = |half: usize| isa.and(key(half), isa.splat((CLAMP >> (64 * half)) as u64));
        let key = Power::new::<I, R>(isa, R::split(isa, clamped(0), clamped(1), zero));
        let mut h = [zero; N];
        while steps > 0 {
            let mut runs: [&Blocks; MOST_LANES] = [&[]; MOST_LANES];
            let mut tops = [0; MOST_LANES];
            let mut run = steps;
            for (i, lane) in lanes.iter().enumerate() {
                runs[i] = lane.run();
                tops[i] = if lane.idle == 0 { R::TOP } else { 0 };
                run = run.min(runs[i].len());
            }
            let top = isa.lanes(|lane| tops[lane]);
            for i in 0..run {
                let half = |half: usize| isa.lanes(|lane| word(runs[lane], i, half));
                for (h, m) in h.iter_mut().zip(R::split(isa, half(0), half(1), top)) {
                    *h = isa.add(*h, m);
                }
                h = multiply::<I, R, N>(isa, h, &key);
            }
            for lane in &mut *lanes {
                lane.advance(run);
            }
            steps -= run;
        }

        let mut limbs = store(isa, h);
        for (lane, (message, tag)) in messages.iter().zip(tags).enumerate() {
            let mut state = State::new(&[0; 16]);
            state.set_limbs::<N>(from_fn(|limb| limbs[limb][lane]));
            *tag = state.tag(message.key.last_chunk().expect("the other 16"));
        }
        limbs.as_flattened_mut().zeroize();
    }

    /// The low or the high half of a block.
    #[inline(always)]
    fn word(blocks: &Blocks, i: usize, half: usize) -> u64 {
        u64::from_le_bytes(blocks[i].as_chunks().0[half])
    }

    impl Message<'_> {
        /// What is left of each part over whole blocks, padded, and the last block.
        fn ends(&self) -> [[u8; 16]; 3] {
            let [a, b] = self.parts.map(|part| padded(part.as_chunks::<16>().1));
            [a, b, self.last]
        }
    }

    /// What a lane has still to take in: `idle` times zeros, then the runs.
    struct Lane<'a> {
        idle: usize,
        runs: [&'a Blocks; 4],
    }

    impl<'a> Lane<'a> {
        /// A message that ends after `steps`; its [`ends`](Message::ends) lie in a buffer.
        fn new(message: &Message<'a>, ends: &'a [[u8; 16]; 3], steps: usize) -> Self {
            let [first, second] = message.parts.map(|part| part.as_chunks::<16>());
            let end = |rest: &[u8]| usize::from(!rest.is_empty());
            Self {
                idle: steps - message.blocks(),
                runs: [first.0, &ends[..end(first.1)], second.0, &ends[2 - end(second.1)..]],
            }
        }

        /// Blocks that come next, at least one, if any are left.
        fn run(&self) -> &'a Blocks {
            static ZEROS: [[u8; 16]; 32] = [[0; 16]; 32];
            match self.idle {
                0 => self.runs.iter().find(|run| !run.is_empty()).unwrap_or(&self.runs[3]),
                idle => &ZEROS[..idle.min(ZEROS.len())],
            }
        }

        /// Leaves out blocks of the present [`run`](Self::run).
        fn advance(&mut self, blocks: usize) {
            if self.idle > 0 {
                self.idle -= blocks;
            } else if let Some(run) = self.runs.iter_mut().find(|run| !run.is_empty()) {
                *run = &run[blocks..];
            }
        }
    }
}

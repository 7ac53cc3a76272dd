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
//! 4. Where there are registers enough, two vectors go side by side: a step is a chain of about 30
//!    cycles, in which the units are idle for most of the time.

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
    use core::slice;

    use zeroize::{Zeroize, Zeroizing};

    use super::Message;
    use crate::poly1305::backend::MOST_STEPS;
    use crate::poly1305::isa::{Isa, MOST_LANES};
    use crate::poly1305::lanes::{Power, Radix, multiply, store};
    use crate::poly1305::padded;
    use crate::poly1305::scalar::{CLAMP, State};

    type Blocks = [[u8; 16]];

    /// The runs of a message: each part's whole blocks and its end, and the last block.
    const RUNS: usize = 5;

    /// The messages of the longest batch: two vectors of the widest row.
    const MOST_MESSAGES: usize = 2 * MOST_LANES;

    /// Writes the tags of at most `VECTORS * LANES` messages. Vectors go side by side, since a step
    /// of one is a chain in which each operation waits for the one before.
    #[inline(always)]
    pub(in crate::poly1305) fn tags<
        I: Isa,
        R: Radix<I, N>,
        const N: usize,
        const VECTORS: usize,
    >(
        isa: I,
        messages: &[Message<'_>],
        tags: &mut [[u8; 16]],
    ) {
        const { assert!(VECTORS <= 2) };
        let mut steps = messages.iter().map(Message::blocks).max().unwrap_or(0);
        let mut ends = [[[0; 16]; 2]; MOST_MESSAGES];
        for (ends, message) in ends.iter_mut().zip(messages) {
            for (end, part) in ends.iter_mut().zip(message.parts) {
                let rest = part.as_chunks::<16>().1;
                if !rest.is_empty() {
                    *end = padded(rest);
                }
            }
        }
        let mut lanes: [_; MOST_MESSAGES] =
            from_fn(|i| Lane::new(messages.get(i), &ends[i], steps));
        let lanes = &mut lanes[..VECTORS * I::LANES];

        let zero = isa.splat(0);
        let mut h = [[zero; N]; VECTORS];
        // Not in an array: what is looked up in a loop lies in memory.
        let first = key::<I, R, N>(isa, messages);
        let second = if VECTORS > 1 {
            Some(key::<I, R, N>(isa, messages.get(I::LANES..).unwrap_or_default()))
        } else {
            None
        };
        let alike = messages.len() == lanes.len() && are_alike(messages);
        let mut runs = 0..RUNS;
        while steps > 0 {
            let mut run = steps;
            let mut tops = [isa.splat(R::TOP); VECTORS];
            let mut blocks: [&Blocks; MOST_MESSAGES] = [&[]; MOST_MESSAGES];
            if alike {
                let i = runs.next().expect("all steps are in the runs");
                for (blocks, lane) in blocks.iter_mut().zip(&*lanes) {
                    *blocks = lane.runs[i];
                }
                run = blocks[0].len();
            } else {
                let mut idle = false;
                for lane in &mut *lanes {
                    run = run.min(lane.run());
                    idle |= lane.idle();
                }
                if idle {
                    tops[0] = top::<I, R, N>(isa, lanes);
                    if VECTORS > 1 {
                        tops[1] = top::<I, R, N>(isa, &lanes[I::LANES..]);
                    }
                }
                for (blocks, lane) in blocks.iter_mut().zip(&mut *lanes) {
                    *blocks = lane.take(run);
                }
            }
            for i in 0..run {
                h[0] = step::<I, R, N>(isa, h[0], &blocks, i, tops[0], &first);
                if let Some(second) = &second {
                    h[1] = step::<I, R, N>(isa, h[1], &blocks[I::LANES..], i, tops[1], second);
                }
            }
            steps -= run;
        }

        let mut state = State::new(&[0; 16]);
        let groups = messages.chunks(I::LANES).zip(tags.chunks_mut(I::LANES));
        for (h, (messages, tags)) in h.into_iter().zip(groups) {
            let mut limbs = store(isa, h);
            for (lane, i) in I::ORDER.iter().enumerate() {
                if let (Some(message), Some(tag)) = (messages.get(*i), tags.get_mut(*i)) {
                    state.set_limbs::<N>(from_fn(|limb| limbs[limb][lane]));
                    *tag = state.tag(message.key.last_chunk().expect("the other 16"));
                }
            }
            limbs.as_flattened_mut().zeroize();
        }
    }

    /// r of each message, and zero where there is none.
    #[inline(always)]
    fn key<I: Isa, R: Radix<I, N>, const N: usize>(
        isa: I,
        messages: &[Message<'_>],
    ) -> Zeroizing<Power<I::V, N>> {
        let (low, high) = isa.gather(|lane| match messages.get(lane) {
            Some(message) => message.key.first_chunk().expect("16 of 32 bytes"),
            None => &[0; 16],
        });
        let low = isa.and(low, isa.splat(CLAMP as u64));
        let high = isa.and(high, isa.splat((CLAMP >> 64) as u64));
        Zeroizing::new(Power::new::<I, R>(isa, R::split(isa, low, high, isa.splat(0))))
    }

    /// The bit above a block, where a lane has one.
    #[inline(always)]
    fn top<I: Isa, R: Radix<I, N>, const N: usize>(isa: I, lanes: &[Lane<'_>]) -> I::V {
        isa.splat_to(R::TOP, |lane| !lanes[I::ORDER[lane]].idle())
    }

    /// `(h + m) r`, in each lane.
    #[inline(always)]
    fn step<I: Isa, R: Radix<I, N>, const N: usize>(
        isa: I,
        mut h: [I::V; N],
        blocks: &[&Blocks],
        i: usize,
        top: I::V,
        r: &Power<I::V, N>,
    ) -> [I::V; N] {
        let (low, high) = isa.gather(|lane| &blocks[lane][i]);
        for (h, m) in h.iter_mut().zip(R::split(isa, low, high, top)) {
            *h = isa.add(*h, m);
        }
        multiply::<I, R, N>(isa, h, r)
    }

    /// Whether all have the same lengths, as packets often do: then they have the same runs, and no lane
    /// has to be asked for its next one.
    #[inline(always)]
    fn are_alike(messages: &[Message<'_>]) -> bool {
        let lengths = |message: &Message<'_>| message.parts.map(<[u8]>::len);
        messages.iter().all(|message| lengths(message) == lengths(&messages[0]))
    }

    /// What a lane has still to take in, run by run.
    struct Lane<'a> {
        /// The present run.
        now: &'a Blocks,
        /// How many runs come after it: the last of these.
        left: usize,
        runs: [&'a Blocks; RUNS],
    }

    impl<'a> Lane<'a> {
        /// Zeros and then a message, if there is one, so that it ends after `steps`. What is left of its
        /// parts over whole blocks lies in `ends`, padded.
        #[inline]
        fn new(message: Option<&'a Message<'a>>, ends: &'a [[u8; 16]; 2], steps: usize) -> Self {
            static ZEROS: [[u8; 16]; MOST_STEPS] = [[0; 16]; MOST_STEPS];
            let Some(message) = message else {
                return Self { now: &ZEROS[..steps], left: RUNS, runs: [&[]; RUNS] };
            };
            let [first, second] = message.parts.map(|part| part.as_chunks::<16>());
            let end = |i: usize, rest: &[u8]| &ends[i..i + usize::from(!rest.is_empty())];
            let now = &ZEROS[..steps - message.blocks()];
            let (a, b) = (end(0, first.1), end(1, second.1));
            let last = slice::from_ref(&message.last);
            Self { now, left: RUNS, runs: [first.0, a, second.0, b, last] }
        }

        /// How many blocks come next, one after the other.
        #[inline]
        fn run(&mut self) -> usize {
            while self.now.is_empty() && self.left > 0 {
                self.now = self.runs[RUNS - self.left];
                self.left -= 1;
            }
            self.now.len()
        }

        /// Whether they are the zeros before the message.
        #[inline]
        fn idle(&self) -> bool {
            self.left == RUNS
        }

        /// Takes so many of them off.
        #[inline]
        fn take(&mut self, blocks: usize) -> &'a Blocks {
            let (taken, rest) = self.now.split_at(blocks);
            self.now = rest;
            taken
        }
    }
}

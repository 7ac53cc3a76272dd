//! The table of Poly1305 backends, the thresholds, and the choice.

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;

use super::batch::Message;
use super::{Keep, Powers, scalar};
use crate::cpu::{self, Head, Memo, Row, Usable};
use crate::section::{self, Primitive};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Backend {
    head: Head,
    /// From how many blocks on the row's kernel costs less than the scalar path.
    min_blocks: usize,
    /// The same where the powers are there already.
    min_blocks_cached: usize,
    blocks: Blocks,
    /// Many messages at once; without it, they go one after the other.
    batch: Option<Batch>,
}

/// Takes in whole blocks, at least one, and keeps the powers that it computes. To call one is safe
/// where its row's `usable()` holds.
type Blocks = unsafe fn(&mut scalar::State, Keep<'_>, &[[u8; 16]]);

/// A kernel that takes a message to a lane.
#[derive(Debug)]
struct Batch {
    lanes: usize,
    /// What a step costs, and what comes on top of all steps, in halves of what the scalar code
    /// needs for a block.
    step_cost: usize,
    start_cost: usize,
    /// Writes the tag of each message, of which there are at most `lanes`. To call it is safe where
    /// `usable()` holds.
    tags: unsafe fn(&[Message<'_>], &mut [[u8; 16]]),
}

impl Row for Backend {
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Best first; the last row runs everywhere.
pub(crate) static TABLE: &[Backend] = &[
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    avx512::IFMA,
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    avx512::ROW,
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    avx2::ROW,
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    neon::ROW,
    SCALAR,
];

const SCALAR: Backend = Backend {
    head: Head { name: "scalar", level: 0, usable: || true },
    min_blocks: usize::MAX,
    min_blocks_cached: usize::MAX,
    blocks: |state, _, blocks| state.blocks(blocks),
    batch: None,
};

/// Whether a message of so many whole blocks is too short for any row's kernel. Such a one is not worth
/// a look at the table: one block takes 28 cycles on Zen 5, and 32 with it.
#[inline(always)]
pub(crate) fn is_short(blocks: usize) -> bool {
    blocks < LEAST_BLOCKS && !thresholds_are_off()
}

/// No row has a lower threshold.
const LEAST_BLOCKS: usize = 8;

const _: () = {
    let mut row = 0;
    while row < TABLE.len() {
        assert!(TABLE[row].min_blocks >= LEAST_BLOCKS, "a row whose kernel would not be asked for");
        row += 1;
    }
};

#[inline(always)]
fn thresholds_are_off() -> bool {
    #[cfg(feature = "force-backend")]
    return cpu::forced().is_some_and(|forced| forced.no_threshold);
    #[cfg(not(feature = "force-backend"))]
    false
}

/// The Poly1305 dispatcher: length decides first, then the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Core {
    row: Usable<Backend>,
    min_blocks: usize,
}

impl Core {
    /// The best that this machine has.
    #[inline]
    pub(crate) fn new() -> Self {
        static MEMO: Memo = Memo::new();
        let core = Self::on(cpu::choose(TABLE, &MEMO).expect("the last row"));
        if thresholds_are_off() { core.without_threshold() } else { core }
    }

    /// A given row.
    pub(crate) fn on(row: Usable<Backend>) -> Self {
        Self { row, min_blocks: row.min_blocks }
    }

    /// The row's kernel wherever it can run.
    pub(crate) fn without_threshold(self) -> Self {
        Self { min_blocks: self.row.min_blocks.min(1), ..self }
    }

    pub(crate) fn name(self) -> &'static str {
        self.row.name()
    }

    /// The bytes from which on the row's kernel runs, if it is not the scalar one.
    pub(crate) fn threshold(self) -> Option<usize> {
        self.min_blocks.checked_mul(16)
    }

    /// Takes in whole blocks, in sections. What is shorter than the threshold is a direct call of
    /// the scalar code.
    #[inline(always)]
    pub(crate) fn blocks(
        self,
        state: &mut scalar::State,
        powers: &mut Option<Powers>,
        blocks: &[[u8; 16]],
    ) {
        if powers.is_none() && blocks.len() < self.min_blocks.min(SECTION) {
            section::scalar(Primitive::Poly1305, || state.blocks(blocks));
        } else {
            self.sections(state, powers, blocks);
        }
    }

    /// Takes in the whole blocks of a message that no others follow, so that no powers are kept.
    #[inline(always)]
    pub(crate) fn once(self, state: &mut scalar::State, blocks: &[[u8; 16]]) {
        if blocks.len() < self.min_blocks.min(SECTION) {
            section::scalar(Primitive::Poly1305, || state.blocks(blocks));
        } else {
            self.long(state, blocks);
        }
    }

    #[inline(never)]
    fn long(self, state: &mut scalar::State, blocks: &[[u8; 16]]) {
        let row = section::next(self.row, TABLE);
        if blocks.len() <= Primitive::Poly1305.section(row.head()) / 16 {
            run(row, state, None, blocks);
        } else {
            self.sections(state, &mut None, blocks);
        }
    }

    /// What may be long. A short end of a long message finds the powers there, so its threshold is
    /// the lower one.
    #[inline(never)]
    fn sections(
        self,
        state: &mut scalar::State,
        powers: &mut Option<Powers>,
        mut blocks: &[[u8; 16]],
    ) {
        while !blocks.is_empty() {
            let row = section::next(self.row, TABLE);
            let length = blocks.len().min(Primitive::Poly1305.section(row.head()) / 16);
            let (now, rest) = blocks.split_at(length);
            blocks = rest;
            let cached = powers.is_some() && length >= self.row.min_blocks_cached;
            if cached || length >= self.min_blocks {
                run(row, state, Some(powers), now);
            } else {
                section::scalar(Primitive::Poly1305, || state.blocks(now));
            }
        }
    }

    /// Writes the tag of each message. Those that stand together cost least if they are about as
    /// long.
    ///
    /// # Panics
    ///
    /// If there are not as many tags as messages.
    pub(crate) fn batch(self, messages: &[Message<'_>], tags: &mut [[u8; 16]]) {
        assert_eq!(messages.len(), tags.len(), "a tag for each message");
        let batch = self.row.batch.as_ref();
        let lanes = batch.map_or(1, |batch| batch.lanes);
        for (messages, tags) in messages.chunks(lanes).zip(tags.chunks_mut(lanes)) {
            let batch = batch.filter(|batch| self.pays(batch, messages));
            let ran = batch.and_then(|batch| {
                section::attempt(Primitive::Poly1305, self.row, |_| {
                    // SAFETY: the row was found usable.
                    unsafe { (batch.tags)(messages, tags) }
                })
            });
            if ran.is_none() {
                for (message, tag) in messages.iter().zip(tags) {
                    *tag = message.tag(self);
                }
            }
        }
    }

    /// Whether side by side costs less than one after the other.
    fn pays(self, batch: &Batch, messages: &[Message<'_>]) -> bool {
        let blocks = messages.iter().map(Message::blocks);
        let (steps, blocks) = (blocks.clone().max().unwrap_or(0), blocks.sum::<usize>());
        let anyway = self.min_blocks < self.row.min_blocks;
        steps <= MOST_STEPS && (anyway || 2 * blocks > batch.step_cost * steps + batch.start_cost)
    }
}

/// Runs a row's kernel as one section.
#[inline(always)]
fn run(row: Usable<Backend>, state: &mut scalar::State, keep: Keep<'_>, blocks: &[[u8; 16]]) {
    section::run(Primitive::Poly1305, row, |row| {
        // SAFETY: the row was found usable.
        unsafe { (row.blocks)(state, keep, blocks) }
    });
}

/// The blocks of a section of scalar code.
const SECTION: usize = section::POLY1305_BYTES / 16;

/// The blocks of the longest message that shares a batch: at four lanes, the batch is a section.
/// What is longer fills the lanes on its own.
pub(super) const MOST_STEPS: usize = SECTION / 4;

//! The table of Poly1305 backends, the thresholds, and the choice.

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod avx2;

use super::scalar;
use crate::cpu::{self, Head, Memo, Row, Usable};
use crate::section::{self, Primitive};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Backend {
    head: Head,
    /// From how many blocks on the row's kernel costs less than the scalar path.
    min_blocks: usize,
    /// The fewest blocks that the kernel can take.
    least_blocks: usize,
    /// Takes in whole blocks. To call it is safe where `usable()` holds.
    blocks: unsafe fn(&mut scalar::State, &[[u8; 16]]),
}

impl Row for Backend {
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Best first; the last row runs everywhere.
pub(crate) static TABLE: &[Backend] = &[
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    avx2::ROW,
    SCALAR,
];

const SCALAR: Backend = Backend {
    head: Head { name: "scalar", level: 0, usable: || true },
    min_blocks: usize::MAX,
    least_blocks: usize::MAX,
    blocks: scalar::State::blocks,
};

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
        #[cfg(feature = "force-backend")]
        if cpu::forced().is_some_and(|forced| forced.no_threshold) {
            return core.without_threshold();
        }
        core
    }

    /// A given row.
    pub(crate) fn on(row: Usable<Backend>) -> Self {
        Self { row, min_blocks: row.min_blocks }
    }

    /// The row's kernel wherever it can run.
    pub(crate) fn without_threshold(self) -> Self {
        Self { min_blocks: self.row.least_blocks, ..self }
    }

    pub(crate) fn name(self) -> &'static str {
        self.row.name()
    }

    /// The bytes from which on the row's kernel runs, if it is not the scalar one.
    pub(crate) fn threshold(self) -> Option<usize> {
        self.min_blocks.checked_mul(16)
    }

    /// Takes in whole blocks, in sections. What is shorter than the threshold is a direct call of
    /// the scalar code, and so is a short end of a long message.
    #[inline]
    pub(crate) fn blocks(self, state: &mut scalar::State, blocks: &[[u8; 16]]) {
        for blocks in blocks.chunks(section::POLY1305_BYTES / 16) {
            if blocks.len() < self.min_blocks {
                section::scalar(Primitive::Poly1305, || state.blocks(blocks));
            } else {
                debug_assert!(blocks.len() >= self.row.least_blocks);
                section::run(Primitive::Poly1305, self.row, TABLE, |row| {
                    // SAFETY: the row was found usable.
                    unsafe { (row.blocks)(state, blocks) }
                });
            }
        }
    }
}

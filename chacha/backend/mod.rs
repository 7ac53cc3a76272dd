//! The table of ChaCha backends, and the choice among them.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
pub(crate) mod neon;
pub(super) mod scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;

use zeroize::Zeroize;

use super::State;
use super::batch::{Blocks, Lanes};
use super::data::{Data, Mode, mode};
use crate::cpu::{self, Head, Memo, Row, Tuning, Usable};
use crate::section::{self, Primitive};

/// A kernel for data of some lifetime: puts the keystream from a block on to the data. With a lead,
/// that block goes there and the data starts with the next. To call one is safe where its row's
/// `usable()` holds.
pub(crate) type Call<D> = unsafe fn(&State, u64, Option<&mut [u8; 64]>, D);

/// A kernel for data of every lifetime.
type Kernel<M> = unsafe fn(&State, u64, Option<&mut [u8; 64]>, <M as Mode>::Data<'_>);

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Backend {
    head: Head,
    kernels: Kernels,
    /// What is faster on Zen 5.
    on_zen5: Kernels,
}

/// The kernels of a row: one for each mode, and that of [`Core::lanes`].
#[derive(Debug)]
pub(crate) struct Kernels {
    /// The blocks of the longest pass, a power of two: what is over a multiple of it needs another.
    longest_pass: usize,
    /// Whether the scalar row is faster with a single block.
    single_block_goes_scalar: bool,
    /// Whether a block that is one too many for the passes of the others is woven into one, as a block
    /// apart.
    weaves_a_lead: bool,
    pub(super) in_place: Kernel<mode::InPlace>,
    pub(super) apart: Kernel<mode::Apart>,
    pub(super) keystream: Kernel<mode::Keystream>,
    lanes: unsafe fn(Lanes<'_>, &mut Blocks),
}

impl Kernels {
    /// The same for a CPU on which the scalar row is faster with a single block.
    #[allow(dead_code, reason = "where there are no vectors the scalar row is the only one")]
    const fn with_scalar_singles(self) -> Self {
        Self { single_block_goes_scalar: true, ..self }
    }
}

impl Backend {
    /// The kernels for a tuning.
    #[inline]
    fn kernels(&self, tuning: Tuning) -> &Kernels {
        match tuning {
            Tuning::Zen5 => &self.on_zen5,
            Tuning::Plain | Tuning::Ymm256 => &self.kernels,
        }
    }
}

impl Row for Backend {
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Best first; the last row runs everywhere.
pub(crate) static TABLE: &[Backend] = &[
    #[cfg(target_arch = "x86_64")]
    avx512::ROW,
    #[cfg(target_arch = "x86_64")]
    avx512::ROW_OF_256_BITS,
    #[cfg(target_arch = "x86_64")]
    avx2::ROW,
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    sse2::ROW,
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    neon::ROW,
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    simd128::ROW,
    scalar::ROW,
];

/// The row that [`Core::new`] takes.
static MEMO: Memo = Memo::new();

/// The dispatched core: a usable row, and its kernels for the tuning.
///
/// Two pointers and no padding: the compiler copies padding along with the field behind it, in pieces
/// that the loads of that field then span, and such a load waits for the end of the call before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Core {
    row: Usable<Backend>,
    /// One of the row's own.
    kernels: &'static Kernels,
}

impl Core {
    /// The best that this machine has.
    #[inline]
    pub(crate) fn new() -> Self {
        Self::on(cpu::choose(TABLE, &MEMO).expect("the last row")).tuned(Tuning::current())
    }

    /// The best that is there without asking the CPU, which may take longer than a few blocks do. The CRNG's
    /// short refills run on it until something has asked, not a process's first alone.
    #[allow(dead_code, reason = "without pages that a fork wipes, nothing is refilled")]
    pub(crate) fn unasked() -> Self {
        if cpu::has_chosen(&MEMO) { Self::new() } else { Self::on(cpu::everywhere(TABLE)) }
    }

    /// A given row, without tuning.
    pub(crate) fn on(row: Usable<Backend>) -> Self {
        Self { row, kernels: row.as_static().kernels(Tuning::Plain) }
    }

    pub(crate) fn name(self) -> &'static str {
        self.row.name()
    }

    /// Puts the keystream from block `first` on to `data`, in sections. With a lead, that block goes
    /// there, and the data starts with the next.
    #[inline]
    pub(crate) fn run<D: Data>(
        self,
        state: &State,
        first: u64,
        lead: Option<&mut [u8; 64]>,
        data: D,
    ) {
        // A single block is over so soon that every detour counts.
        let most = if lead.is_some() { 0 } else { 64 };
        if data.len() <= most && self.kernels.single_block_goes_scalar {
            return self.call(self.scalar(), state, first, lead, data);
        }
        self.run_in_sections(state, first, lead, data);
    }

    /// As [`Core::run`], of any length.
    fn run_in_sections<D: Data>(
        self,
        state: &State,
        mut first: u64,
        mut lead: Option<&mut [u8; 64]>,
        mut data: D,
    ) {
        loop {
            let row = section::next(self.row, TABLE);
            let length = Primitive::ChaCha20.section(row.head());
            // The block apart counts: a section is no longer with it, and needs no pass for one
            // block.
            let room = length - if lead.is_some() { 64 } else { 0 };
            if data.len() <= room {
                return self.section(row, state, first, lead, data);
            }
            let (head, tail) = data.split_at(room);
            self.section(row, state, first, lead.take(), head);
            first = first.wrapping_add((length / 64) as u64);
            data = tail;
        }
    }

    /// One section.
    #[inline]
    fn section<D: Data>(
        self,
        row: Usable<Backend>,
        state: &State,
        first: u64,
        lead: Option<&mut [u8; 64]>,
        data: D,
    ) {
        let apart = usize::from(lead.is_some());
        let blocks = apart + data.len().div_ceil(64);
        if apart == 0 && self.first_block_is_woven(blocks) {
            let (mut head, rest) = data.split_at(64);
            let mut block = [0; 64];
            self.call(row, state, first, Some(&mut block), rest);
            head.put(&block);
            block.as_mut_slice().zeroize();
            return;
        }
        if !self.last_block_goes_scalar(blocks) {
            return self.call(row, state, first, lead, data);
        }
        let (head, last) = data.split_at(64 * (blocks - 1 - apart));
        self.call(row, state, first, lead, head);
        self.call(self.scalar(), state, first.wrapping_add(blocks as u64 - 1), None, last);
    }

    /// Writes the block of each lane, in their order. What `blocks` holds beyond is keystream too.
    ///
    /// # Panics
    ///
    /// If there are more lanes than blocks.
    #[inline]
    pub(crate) fn lanes(self, lanes: Lanes<'_>, blocks: &mut Blocks) {
        assert!(lanes.count <= blocks.len());
        section::run(Primitive::ChaCha20, section::next(self.row, TABLE), |row| {
            let kernel = self.kernels_of(row).lanes;
            // SAFETY: the row was found usable.
            unsafe { kernel(lanes, blocks) }
        });
    }

    #[inline]
    fn call<D: Data>(
        self,
        row: Usable<Backend>,
        state: &State,
        first: u64,
        lead: Option<&mut [u8; 64]>,
        data: D,
    ) {
        section::run(Primitive::ChaCha20, row, |row| {
            let kernel = D::kernel(self.kernels_of(row));
            // SAFETY: the row was found usable.
            unsafe { kernel(state, first, lead, data) }
        });
    }

    /// A call of the row's own kernel, whatever is faster.
    #[cfg(test)]
    pub(super) fn call_itself<D: Data>(self, state: &State, first: u64, data: D) {
        self.call(self.row, state, first, None, data);
    }

    /// The kernels of a row that runs: this core's, or another where vectors may not be used at the
    /// moment.
    #[inline(always)]
    fn kernels_of(self, row: Usable<Backend>) -> &'static Kernels {
        let same = core::ptr::eq(row.as_static(), self.row.as_static());
        if same { self.kernels } else { &row.as_static().kernels }
    }

    #[inline]
    fn scalar(self) -> Usable<Backend> {
        cpu::last(TABLE)
    }

    /// Whether the last of so many blocks would need a vector pass of its own, and the row or the
    /// tuning says that the scalar row is faster there. Blocks that share a pass stay together: to
    /// split one off loses.
    #[inline]
    pub(super) fn last_block_goes_scalar(self, blocks: usize) -> bool {
        let kernels = self.kernels;
        let alone = blocks == 1 || !kernels.weaves_a_lead && self.one_too_many(blocks);
        kernels.single_block_goes_scalar && alone
    }

    /// Whether so many blocks are one too many for a pass, and the row weaves that one into it.
    #[inline]
    fn first_block_is_woven(self, blocks: usize) -> bool {
        let shorter_pass = match self.longest_pass() {
            32 => matches!(blocks, 5..=9 | 17),
            _ => blocks % 8 == 1,
        };
        self.kernels.weaves_a_lead && blocks > 1 && (shorter_pass || self.one_too_many(blocks))
    }

    #[inline]
    fn one_too_many(self, blocks: usize) -> bool {
        blocks & (self.longest_pass() - 1) == 1
    }

    /// Whether a block apart needs no pass of its own beside a message of so many bytes.
    #[inline]
    pub(crate) fn block_apart_fits(self, len: usize) -> bool {
        !self.last_block_goes_scalar(1 + len.div_ceil(64))
    }

    /// The blocks of the longest pass, and the lanes.
    #[inline]
    pub(crate) fn longest_pass(self) -> usize {
        self.kernels.longest_pass
    }

    /// The same row, tuned otherwise.
    pub(crate) fn tuned(self, tuning: Tuning) -> Self {
        Self { kernels: self.row.as_static().kernels(tuning), ..self }
    }
}

//! Sections: the longest stretches that a kernel runs before it comes up for air.
//!
//! In a kernel, a section is what lies between enabling and disabling the FPU; in a real-time or
//! async program, the longest time in which nobody else runs. There is one constant per primitive
//! and no runtime knob (Elliott and Donenfeld, "use common macro for FPU limit", 2022): a power of
//! two of bytes, such that the slowest backend stays below 40,000 cycles, 40 microseconds on a core
//! of 1 GHz.
//!
//! ```text
//! run(primitive, row, table, kernel)      usable?  begin  kernel(row)  end  relax
//!                                              no         kernel(scalar row)  relax
//! ```
//!
//! What always holds: every vector kernel runs inside [`run`] or [`attempt`], and no section runs
//! inside another, since kernels know nothing of sections.

use crate::cpu::{self, Head, Row, Usable};

/// The bytes of ChaCha20 in one section: scalar, at 7.8 cycles a byte on Zen 3, in 32,000 cycles.
pub const CHACHA20_BYTES: usize = 4096;

/// The bytes of Poly1305 in one section: scalar, at 1.1 cycles a byte on Zen 3, in 9,000 cycles. It
/// leaves room for radix 2^26, which is several times slower.
pub const POLY1305_BYTES: usize = 8192;

/// The bytes of a message in one section of the AEAD, which both primitives go over: scalar, at 8.9
/// cycles a byte on Zen 3, in 36,000 cycles.
pub const AEAD_BYTES: usize = 4096;

/// What a section computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Primitive {
    ChaCha20,
    Poly1305,
    /// Both in one pass.
    Aead,
}

/// Runs `kernel` as one section, on `row` or, where vectors may not be used at the moment, on the
/// last row of its table. Without the features it is the call of the kernel and nothing else.
#[inline(always)]
pub(crate) fn run<B: Row, R>(
    primitive: Primitive,
    row: Usable<B>,
    table: &'static [B],
    kernel: impl FnOnce(Usable<B>) -> R,
) -> R {
    let row = if allowed(row) { row } else { cpu::last(table) };
    within(primitive, row.head(), || kernel(row))
}

/// Runs `kernel` as one section, or gives `None` where vectors may not be used at the moment: for
/// rows that have no scalar one beside them.
#[inline(always)]
pub(crate) fn attempt<B: Row, R>(
    primitive: Primitive,
    row: Usable<B>,
    kernel: impl FnOnce(Usable<B>) -> R,
) -> Option<R> {
    allowed(row).then(|| within(primitive, row.head(), || kernel(row)))
}

/// Runs scalar code as one section.
#[inline(always)]
pub(crate) fn scalar<R>(primitive: Primitive, code: impl FnOnce() -> R) -> R {
    within(primitive, &SCALAR, code)
}

const SCALAR: Head = Head { name: "scalar", level: 0, usable: || true };

/// Whether a row's vectors may be used at the moment.
#[inline(always)]
fn allowed<B: Row>(_row: Usable<B>) -> bool {
    true
}

/// The section itself.
#[inline(always)]
fn within<R>(_primitive: Primitive, _head: &Head, code: impl FnOnce() -> R) -> R {
    code()
}

//! Sections: the longest stretches that a kernel runs before it comes up for air.
//!
//! In a kernel, a section is what lies between enabling and disabling the FPU; in a real-time or
//! async program, the longest time in which nobody else runs. There is one constant per primitive
//! and no runtime knob (Elliott and Donenfeld, "use common macro for FPU limit", 2022): a power of
//! two of bytes, such that the slowest backend stays below [`MAX_CYCLES`]. `keyspring sections` (in
//! the program, with its feature `section-stats`) measures them.
//!
//! Every vector kernel runs inside a section, and no section inside another, since kernels know
//! nothing of sections. The feature `hooks` lets a kernel or an RTOS act around each of them; the
//! feature `section-stats` tells how long they take. Without the features neither leaves a trace.

#[cfg(feature = "hooks")]
mod hooks;
#[cfg(feature = "section-stats")]
mod stats;

#[cfg(feature = "hooks")]
pub use self::hooks::{AlreadyInstalled, Hooks, install};
#[cfg(feature = "section-stats")]
pub use self::stats::{Stats, reset_stats, stats, ticks};
use crate::cpu::{self, Head, Row, Usable};

/// The cycles that no section takes longer than: 40 microseconds on a core of 1 GHz.
pub const MAX_CYCLES: u64 = 40_000;

/// The bytes of ChaCha20 in one section: scalar, at 7.8 cycles a byte on Zen 3, in 32,000 cycles.
pub const CHACHA20_BYTES: usize = 4096;

/// The bytes of Poly1305 in one section: scalar, at 1.1 cycles a byte on Zen 3, in 9,000 cycles. It
/// leaves room for radix 2^26, which is several times slower.
pub const POLY1305_BYTES: usize = 8192;

/// The bytes of a message in one section of the AEAD, which both primitives go over: scalar, at 8.9
/// cycles a byte on Zen 3, in 36,000 cycles.
pub const AEAD_BYTES: usize = 4096;

/// What a section computes.
#[cfg_attr(not(feature = "section-stats"), allow(dead_code))]
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
    let row = if allowed(row.head()) { row } else { cpu::last(table) };
    within(primitive, row.head(), || kernel(row))
}

/// Runs `kernel` as one section, or gives `None` where vectors may not be used at the moment: for
/// tables that have no scalar row.
#[inline(always)]
pub(crate) fn attempt<B: Row, R>(
    primitive: Primitive,
    row: Usable<B>,
    kernel: impl FnOnce(Usable<B>) -> R,
) -> Option<R> {
    allowed(row.head()).then(|| within(primitive, row.head(), || kernel(row)))
}

/// Runs scalar code as one section.
#[inline(always)]
pub(crate) fn scalar<R>(primitive: Primitive, code: impl FnOnce() -> R) -> R {
    const SCALAR: &Head = &Head { name: "scalar", level: 0, usable: || true };
    within(primitive, SCALAR, code)
}

/// Whether a row's vectors may be used at the moment.
#[inline(always)]
fn allowed(_head: &Head) -> bool {
    #[cfg(feature = "hooks")]
    return _head.level == 0 || hooks::usable();
    #[cfg(not(feature = "hooks"))]
    true
}

/// The section itself.
#[inline(always)]
fn within<R>(_primitive: Primitive, _head: &'static Head, code: impl FnOnce() -> R) -> R {
    #[cfg(feature = "section-stats")]
    let code = || stats::timed(_primitive, _head, code);
    #[cfg(feature = "hooks")]
    let code = || hooks::around(_head.level > 0, code);
    code()
}

#[cfg(feature = "section-stats")]
impl Primitive {
    const ALL: [Self; 3] = [Self::ChaCha20, Self::Poly1305, Self::Aead];

    fn name(self) -> &'static str {
        match self {
            Self::ChaCha20 => "chacha20",
            Self::Poly1305 => "poly1305",
            Self::Aead => "aead",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::ChaCha20 => CHACHA20_BYTES,
            Self::Poly1305 => POLY1305_BYTES,
            Self::Aead => AEAD_BYTES,
        }
    }
}

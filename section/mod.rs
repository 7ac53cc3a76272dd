//! Sections: the longest stretches that a kernel runs before it comes up for air.
//!
//! In a kernel, a section is what lies between enabling and disabling the FPU; in a real-time or
//! async program, the longest time in which nobody else runs. There is one constant per primitive
//! and no runtime knob (Elliott and Donenfeld, "use common macro for FPU limit", 2022): a power of
//! two of bytes, such that scalar code and 128-bit vectors stay below [`MAX_CYCLES`]. Wider vectors
//! go several times as far in fewer cycles: 4 times in 256 bits; in 512 bits 8 times, and 16 times
//! with Poly1305. `keyspring sections` (in the program, with its feature `section-stats`) measures
//! them.
//!
//! A program lets others run between two sections, or ends early, without a feature:
//!
//! ```
//! use core::ops::ControlFlow;
//!
//! use keyspring::aead::ChaCha20Poly1305;
//!
//! let mut message = vec![0; 100_000];
//! let sealed = ChaCha20Poly1305::from_key(&[7; 32]).seal_in_place_with(
//!     &[1; 12],
//!     b"",
//!     &mut message,
//!     |_bytes| {
//!         std::thread::yield_now();
//!         ControlFlow::Continue(()) // or Break(()), and the message is as it was
//!     },
//! )?;
//! assert!(sealed.is_continue());
//! # Ok::<(), keyspring::aead::Error>(())
//! ```
//!
//! The longer a section, the less it costs to start one. In percent of one unbounded pass over 1 MiB,
//! hooks included (`cargo bench --bench sections`, Zen 5 with AVX-512; the best of many slices, which
//! still differ by 1 % from run to run):
//!
//! | | sections | 64 blocks | 32 | 16 | 4 | each block |
//! |---|---|---|---|---|---|---|
//! | ChaCha20, 512 bits | 1.3 | 6.0 | 7.5 | 4.9 | 207 | 1064 |
//! | Poly1305, 512 bits, IFMA | 1.2 | 35 | 60 | 130 | 385 | 1066 |
//! | sealing on both | -0.1 | 8.0 | 13 | 19 | 224 | 1042 |
//! | ChaCha20, 256 bits | 0.3 | 0.3 | 0.4 | 0.8 | 66 | 489 |
//! | Poly1305, 256 bits | 1.1 | 5.3 | 11 | 81 | 141 | 141 |
//! | sealing on both, fused | 0.2 | 0.9 | 0.3 | 0.5 | 122 | 532 |
//! | sealing, scalar | 0.3 | 0.3 | 0.7 | 1.4 | 2.0 | 7.3 |
//!
//! Sections of 64 blocks of ChaCha20 and 128 of Poly1305, as scalar code has, cost the 512-bit rows
//! 3.9 and 16.6 %.
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
///
/// # Examples
///
/// ```
/// // What a kernel must reckon with on a core of 100 MHz.
/// assert_eq!(keyspring::section::MAX_CYCLES / 100, 400); // microseconds
/// ```
pub const MAX_CYCLES: u64 = 40_000;

/// The bytes of ChaCha20 in one section of scalar code, at 7.8 cycles a byte on Zen 3 in 32,000
/// cycles, or of 128-bit vectors.
///
/// # Examples
///
/// ```
/// assert!(keyspring::section::CHACHA20_BYTES.is_multiple_of(64)); // whole blocks
/// ```
pub const CHACHA20_BYTES: usize = 4096;

/// The bytes of Poly1305 in one section of scalar code, at 1.1 cycles a byte on Zen 3 in 9,000
/// cycles, or of 128-bit vectors. It leaves room for radix 2^26, which is several times slower.
///
/// # Examples
///
/// ```
/// assert!(keyspring::section::POLY1305_BYTES.is_multiple_of(16)); // whole blocks
/// ```
pub const POLY1305_BYTES: usize = 8192;

/// The bytes of a message in one section of the AEAD, which both primitives go over: scalar, at 8.9
/// cycles a byte on Zen 3, in 36,000 cycles. [`Sealing`](crate::aead::Sealing) steps so far.
///
/// # Examples
///
/// ```
/// let steps = (1_usize << 30).div_ceil(keyspring::section::AEAD_BYTES); // to seal 1 GiB
/// assert_eq!(steps, 262_144);
/// ```
pub const AEAD_BYTES: usize = 4096;

/// What a section computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Primitive {
    ChaCha20,
    Poly1305,
    /// Both in one pass.
    Aead,
}

impl Primitive {
    /// The bytes that a section of a row goes over at most, or what a bench has set in their place.
    #[inline(always)]
    pub(crate) fn section(self, head: &Head) -> usize {
        #[cfg(feature = "force-backend")]
        if let Some(blocks) = cpu::forced().and_then(|forced| forced.section) {
            return blocks.saturating_mul(64);
        }
        self.bytes() * self.stretch(head.level)
    }

    /// How many times as far as scalar code a section of a level goes. The slowest that they are
    /// meant for, in 512 bits, is Zen 4, which has 256-bit units.
    #[inline(always)]
    const fn stretch(self, level: u8) -> usize {
        match (self, level) {
            (_, 0..20) => 1,
            (_, 20..30) => 4,
            (Self::Poly1305, _) => 16,
            (Self::ChaCha20 | Self::Aead, _) => 8,
        }
    }

    #[inline(always)]
    const fn bytes(self) -> usize {
        match self {
            Self::ChaCha20 => CHACHA20_BYTES,
            Self::Poly1305 => POLY1305_BYTES,
            Self::Aead => AEAD_BYTES,
        }
    }
}

/// The row for the next section: `row` or, where vectors may not be used at the moment, the last of
/// its table.
#[inline(always)]
pub(crate) fn next<B: Row>(row: Usable<B>, table: &'static [B]) -> Usable<B> {
    if allowed(row.head()) { row } else { cpu::last(table) }
}

/// Runs `kernel` as one section, on a row that [`next`] gave. Without the features it is the call of
/// the kernel and nothing else.
#[inline(always)]
pub(crate) fn run<B: Row, R>(
    primitive: Primitive,
    row: Usable<B>,
    kernel: impl FnOnce(Usable<B>) -> R,
) -> R {
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
}

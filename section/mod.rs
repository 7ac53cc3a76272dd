//! Sections: the longest stretches that a kernel runs before it comes up for air.
//!
//! In a kernel, a section is what lies between enabling and disabling the FPU; in a real-time or
//! async program, the longest time in which nobody else runs. There is one constant per primitive
//! and no runtime knob (Elliott and Donenfeld, "use common macro for FPU limit", 2022): a power of
//! two of bytes, such that the slowest backend stays below 40,000 cycles, 40 microseconds on a core
//! of 1 GHz.

/// The bytes of ChaCha20 in one section: scalar, at 7.8 cycles a byte on Zen 3, in 32,000 cycles.
pub const CHACHA20_BYTES: usize = 4096;

/// The bytes of Poly1305 in one section: scalar, at 1.1 cycles a byte on Zen 3, in 9,000 cycles. It
/// leaves room for radix 2^26, which is several times slower.
pub const POLY1305_BYTES: usize = 8192;

/// The bytes of a message in one section of the AEAD, which both primitives go over: scalar, at 8.9
/// cycles a byte on Zen 3, in 36,000 cycles.
pub const AEAD_BYTES: usize = 4096;

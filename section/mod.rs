//! Sections: the longest stretches that a kernel runs before it comes up for air.
//!
//! In a kernel, a section is what lies between enabling and disabling the FPU; in a real-time or
//! async program, the longest time in which nobody else runs. There is one constant per primitive
//! and no runtime knob (Elliott and Donenfeld, "use common macro for FPU limit", 2022): 30
//! microseconds on a core of 1 GHz, that is 30,000 cycles, on the slowest backend, rounded down to a
//! power of two.

/// The bytes of ChaCha20 in one section: scalar, at about 5 cycles a byte, in 20,000 cycles.
pub const CHACHA20_BYTES: usize = 4096;

/// The bytes of Poly1305 in one section: scalar radix 2^26, at about 2.5 cycles a byte, in 20,000
/// cycles.
pub const POLY1305_BYTES: usize = 8192;

/// The bytes of a message in one section of the AEAD, which both primitives go over: scalar, at
/// about 7.5 cycles a byte, in 31,000 cycles.
pub const AEAD_BYTES: usize = 4096;

//! General-purpose registers: the short path, and what every vector row is checked against.
//!
//! Two radices, by what the machine multiplies: [`radix64`] where a register has 64 bits,
//! [`radix26`] elsewhere. Both are compiled into the tests of every target.

#[cfg(any(target_pointer_width = "64", test))]
pub(super) mod radix64;

#[cfg(any(not(target_pointer_width = "64"), test))]
pub(super) mod radix26;

#[cfg(target_pointer_width = "64")]
pub(crate) use radix64::{State, mac};

#[cfg(not(target_pointer_width = "64"))]
pub(crate) use radix26::{State, mac};

use super::word;

/// The bits of r that the clamp keeps (RFC 8439, section 2.5.1).
pub(super) const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;

/// The bit above a whole block.
const WHOLE: u64 = 1;

/// A last block of fewer than 16 bytes: its 1 bit comes right after its bytes, so none is above.
#[inline]
fn pad(last: &[u8]) -> u128 {
    word(last) | 1 << (8 * last.len())
}

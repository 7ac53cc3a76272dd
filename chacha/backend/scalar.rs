//! General-purpose registers alone: runs everywhere, and is what every other row is checked
//! against.

#[cfg(all(target_arch = "x86_64", not(keyspring_no_asm)))]
use core::arch::asm;

use zeroize::Zeroize;

use super::{Backend, Kernels};
use crate::chacha::batch::{Blocks, Lanes};
use crate::chacha::data::{Data, Mode, mode};
use crate::chacha::{State, shapes};
use crate::cpu::Head;

/// Without vectors a block costs the same in any company, so nothing is gained by a longer pass.
pub(super) const ROW: Backend = Backend {
    head: Head { name: "scalar", level: 0, usable: || true },
    kernels: KERNELS,
    on_zen5: KERNELS,
};

const KERNELS: Kernels = Kernels {
    longest_pass: 1,
    single_block_goes_scalar: false,
    weaves_a_lead: false,
    in_place: run::<mode::InPlace>,
    apart: run::<mode::Apart>,
    keystream: run::<mode::Keystream>,
    lanes,
};

fn run<M: Mode>(state: &State, mut first: u64, lead: Option<&mut [u8; 64]>, mut data: M::Data<'_>) {
    if let Some(lead) = lead {
        *lead = bytes(words(state, first));
        first = first.wrapping_add(1);
    }
    let mut at = 0;
    while data.len() - at >= 64 {
        data.window(at, 64).put_words(words(state, first));
        first = first.wrapping_add(1);
        at += 64;
    }
    let rest = data.len() - at;
    if rest > 0 {
        let mut keystream = bytes(words(state, first));
        data.window(at, rest).put(&keystream[..rest]);
        keystream.as_mut_slice().zeroize();
    }
}

fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    for (i, out) in blocks[..lanes.count].iter_mut().enumerate() {
        *out = bytes(words(&lanes.state(i), 0));
    }
}

/// A block of keystream (RFC 8439, section 2.3).
#[inline(always)]
fn words(state: &State, number: u64) -> [u32; 16] {
    shapes::record("scalar", 1);
    let start = state.words(number);
    let mut x = start;
    double_rounds(&mut x, state.double_rounds);
    for i in 0..16 {
        x[i] = alone(x[i].wrapping_add(start[i]));
    }
    x
}

/// A word, in a register of its own: LLVM would gather four of them in a vector to save three
/// instructions, which takes longer than it saves (64 bytes, Zen 5: 512 cycles, 332 with this).
#[inline(always)]
#[cfg_attr(any(not(target_arch = "x86_64"), keyspring_no_asm), allow(unused_mut))]
pub(in crate::chacha) fn alone(mut word: u32) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(keyspring_no_asm)))]
    // SAFETY: there is no instruction; the register goes in and comes out.
    unsafe {
        asm!("/* {0:e} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Words as bytes.
#[inline(always)]
fn bytes(words: [u32; 16]) -> [u8; 64] {
    let mut bytes = [0; 64];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// The rounds without the feed-forward: a block's core, and HChaCha's.
#[inline(always)]
pub(in crate::chacha) fn double_rounds(x: &mut [u32; 16], count: u32) {
    for _ in 0..count {
        columns(x);
        diagonals(x);
    }
}

#[inline(always)]
pub(in crate::chacha) fn columns(x: &mut [u32; 16]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 1, 5, 9, 13);
    quarter_round(x, 2, 6, 10, 14);
    quarter_round(x, 3, 7, 11, 15);
}

#[inline(always)]
pub(in crate::chacha) fn diagonals(x: &mut [u32; 16]) {
    quarter_round(x, 0, 5, 10, 15);
    quarter_round(x, 1, 6, 11, 12);
    quarter_round(x, 2, 7, 8, 13);
    quarter_round(x, 3, 4, 9, 14);
}

/// RFC 8439, section 2.1.
#[inline(always)]
pub(in crate::chacha) fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8439, section 2.1.1.
    #[test]
    fn quarter_round_matches_the_rfc() {
        let mut x = [0; 16];
        (x[0], x[1], x[2], x[3]) = (0x1111_1111, 0x0102_0304, 0x9b8d_6f43, 0x0123_4567);
        quarter_round(&mut x, 0, 1, 2, 3);
        assert_eq!(x[..4], [0xea2a_92f4, 0xcb1c_f8ce, 0x4581_472e, 0x5881_c4bb]);
    }
}

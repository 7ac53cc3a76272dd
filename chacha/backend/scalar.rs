//! General-purpose registers alone: runs everywhere, and is what every other row is checked
//! against.

use zeroize::Zeroize;

use super::{Backend, Kernels};
use crate::chacha::batch::{Blocks, Lanes};
use crate::chacha::data::{Data, Mode, mode};
use crate::chacha::{State, shapes};
use crate::cpu::Head;

/// Without vectors a block costs the same in any company, so nothing is gained by a longer pass.
pub(super) const ROW: Backend = Backend {
    head: Head { name: "scalar", level: 0, usable: || true },
    single_block_goes_scalar: false,
    kernels: Kernels {
        longest_pass: 1,
        in_place: run::<mode::InPlace>,
        apart: run::<mode::Apart>,
        keystream: run::<mode::Keystream>,
        lanes,
    },
    on_zen5: None,
};

fn run<M: Mode>(state: &State, mut first: u64, lead: Option<&mut [u8; 64]>, mut data: M::Data<'_>) {
    if let Some(lead) = lead {
        *lead = block(state, first);
        first = first.wrapping_add(1);
    }
    let mut at = 0;
    while at < data.len() {
        let n = (data.len() - at).min(64);
        let mut keystream = block(state, first);
        data.window(at, n).put(&keystream[..n]);
        keystream.zeroize();
        first = first.wrapping_add(1);
        at += n;
    }
}

fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    for (i, out) in blocks[..lanes.len()].iter_mut().enumerate() {
        *out = block(&lanes.state(i), 0);
    }
}

/// A block of keystream (RFC 8439, section 2.3).
fn block(state: &State, number: u64) -> [u8; 64] {
    shapes::record("scalar", 1);
    let mut start = state.words(number);
    let mut x = start;
    double_rounds(&mut x, state.double_rounds);
    let mut bytes = [0; 64];
    for ((bytes, x), start) in bytes.chunks_exact_mut(4).zip(x).zip(start) {
        bytes.copy_from_slice(&x.wrapping_add(start).to_le_bytes());
    }
    start.as_mut_slice().zeroize();
    x.as_mut_slice().zeroize();
    bytes
}

/// The rounds without the feed-forward: a block's core, and HChaCha's.
pub(in crate::chacha) fn double_rounds(x: &mut [u32; 16], count: u32) {
    for _ in 0..count {
        quarter_round(x, 0, 4, 8, 12);
        quarter_round(x, 1, 5, 9, 13);
        quarter_round(x, 2, 6, 10, 14);
        quarter_round(x, 3, 7, 11, 15);
        quarter_round(x, 0, 5, 10, 15);
        quarter_round(x, 1, 6, 11, 12);
        quarter_round(x, 2, 7, 8, 13);
        quarter_round(x, 3, 4, 9, 14);
    }
}

/// RFC 8439, section 2.1.
#[inline(always)]
fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
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

//! Which body runs for how many blocks.
//!
//! ```text
//! blocks left     1 .. QUADS   .. 2 QUADS   .. 3 QUADS   WIDE_FROM ..
//! body            one chain    two chains   three        vertical, 4 QUADS blocks
//! ```
//!
//! A vertical pass of whole blocks writes straight to the data. What is shorter, and the first pass
//! of a call that wants a block apart, goes through a scratch buffer that is wiped: its kernel is
//! compiled once for all modes.

use zeroize::Zeroize;

use super::data::{Data, Keystream};
use super::isa::Isa;
use super::{State, narrow, wide};

/// Room for the longest pass of any backend.
pub(super) type Scratch = [u8; 64 * 8];

/// The whole of a kernel call: the blocks from `first` on, one to `lead` if there is one, the others
/// to `data`.
#[inline(always)]
pub(super) fn run<I: Isa, D: Data>(
    isa: I,
    state: &State,
    mut first: u64,
    lead: Option<&mut [u8; 64]>,
    mut data: D,
) {
    let wide_blocks = 4 * I::QUADS;
    let mut at = 0;
    if lead.is_some() {
        let len = data.len().min(64 * (wide_blocks - 1));
        short(isa, state, first, lead, data.window(0, len));
        first = first.wrapping_add(wide_blocks as u64);
        at = len;
    }
    while data.len() - at >= 64 * wide_blocks {
        wide::pass(isa, state, first, &mut data.window(at, 64 * wide_blocks));
        first = first.wrapping_add(wide_blocks as u64);
        at += 64 * wide_blocks;
    }
    let rest = data.len() - at;
    if rest > 0 {
        short(isa, state, first, None, data.window(at, rest));
    }
}

/// A lead and data that are one vertical pass at the most, together.
#[inline(always)]
fn short<I: Isa, D: Data>(
    isa: I,
    state: &State,
    first: u64,
    lead: Option<&mut [u8; 64]>,
    mut data: D,
) {
    let apart = if lead.is_some() { 64 } else { 0 };
    let mut scratch: Scratch = [0; 64 * 8];
    isa.edge(state, first, (apart + data.len()).div_ceil(64), &mut scratch);
    if let Some(lead) = lead {
        lead.copy_from_slice(&scratch[..64]);
    }
    data.put_all(isa, &scratch[apart..apart + data.len()]);
    scratch.as_mut_slice().zeroize();
}

/// Makes `blocks` blocks of keystream, at least 1 and at most a vertical pass. What `scratch` holds
/// beyond is keystream too.
#[inline(always)]
pub(super) fn edge<I: Isa>(
    isa: I,
    state: &State,
    first: u64,
    blocks: usize,
    scratch: &mut Scratch,
) {
    const {
        assert!(I::WIDE_FROM <= 3 * I::QUADS + 1, "three chains must do below");
        assert!(64 * 4 * I::QUADS <= size_of::<Scratch>(), "a vertical pass must fit");
    }
    let keystream = &mut Keystream(scratch);
    if blocks >= I::WIDE_FROM {
        return wide::pass(isa, state, first, keystream);
    }
    match blocks.div_ceil(I::QUADS) {
        1 => narrow::pass::<I, _, 1>(isa, state, first, keystream),
        2 => narrow::pass::<I, _, 2>(isa, state, first, keystream),
        _ => narrow::pass::<I, _, 3>(isa, state, first, keystream),
    }
}

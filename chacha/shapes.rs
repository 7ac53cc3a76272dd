//! Which body runs for how many blocks.
//!
//! ```text
//! blocks left     1 .. QUADS   .. 2 QUADS   .. 3 QUADS   WIDE_FROM ..
//! body            one chain    two chains   three        vertical, 4 QUADS blocks
//! ```
//!
//! A vertical pass of whole blocks writes straight to the data. The first pass of a call that wants
//! block 0 apart, and the last pass, go through an [`Edge`].

use zeroize::Zeroize;

use super::data::{Data, Sink};
use super::isa::Isa;
use super::{State, narrow, wide};

/// The whole of a kernel call: block 0 to `lead` if there is one, the blocks after it to `data`.
#[inline(always)]
pub(crate) fn run<I: Isa, D: Data>(
    isa: I,
    state: &State,
    mut lead: Option<&mut [u8; 64]>,
    mut data: D,
) {
    let wide_bytes = 64 * 4 * I::QUADS;
    let (mut first, mut at) = (0, 0);
    loop {
        let rest = data.len() - at;
        if lead.is_none() {
            if rest == 0 {
                return;
            }
            if rest >= wide_bytes {
                wide::pass(isa, state, first, &mut data.window(at, wide_bytes));
                first += 4 * I::QUADS as u64;
                at += wide_bytes;
                continue;
            }
        }
        let lead = lead.take();
        let apart = if lead.is_some() { 64 } else { 0 };
        let blocks = (apart + rest).div_ceil(64);
        let mut edge = Edge { lead, data: data.window(at, rest) };
        let made = if blocks >= I::WIDE_FROM {
            wide::pass(isa, state, first, &mut edge);
            4 * I::QUADS
        } else {
            match blocks.div_ceil(I::QUADS) {
                1 => narrow::pass::<I, _, 1>(isa, state, first, &mut edge),
                2 => narrow::pass::<I, _, 2>(isa, state, first, &mut edge),
                _ => narrow::pass::<I, _, 3>(isa, state, first, &mut edge),
            }
            // Below WIDE_FROM three chains are enough, so this was the last pass.
            blocks
        };
        first += made as u64;
        at += rest.min(64 * made - apart);
    }
}

/// Data whose first 64 bytes may lie apart, and that may end in the middle of a vector or before
/// it: what is beyond the end is dropped.
struct Edge<'a, D> {
    lead: Option<&'a mut [u8; 64]>,
    data: D,
}

impl<D: Data> Sink for Edge<'_, D> {
    #[inline(always)]
    fn put_vector<I: Isa>(&mut self, isa: I, at: usize, keystream: I::V) {
        let at = match &mut self.lead {
            Some(lead) if at < 64 => return isa.store(&mut lead[at..], keystream),
            Some(_) => at - 64,
            None => at,
        };
        let rest = self.data.len().saturating_sub(at);
        if rest >= I::BYTES {
            self.data.put_vector(isa, at, keystream);
        } else if rest > 0 {
            let mut last = [0; 64];
            isa.store(&mut last, keystream);
            self.data.window(at, rest).put(&last[..rest]);
            last.zeroize();
        }
    }
}

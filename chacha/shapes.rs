//! Which body runs for how many blocks.
//!
//! ```text
//! blocks left     1 .. QUADS   .. 2 QUADS   .. 3 QUADS   WIDE_FROM ..
//! body            one chain    two chains   three        vertical, 4 QUADS blocks
//! ```
//!
//! Every pass puts its vectors straight to the data.

use super::data::{Data, Parts, Pieces, Sink};
use super::isa::Isa;
use super::pair::{self, InOrder};
use super::{State, narrow, wide};

/// The whole of a kernel call: the blocks from `first` on, one to `lead` if there is one, the others
/// to `data`.
#[inline(always)]
pub(super) fn run<I: Isa, D: Data>(
    isa: I,
    state: &State,
    mut first: u64,
    mut lead: Option<&mut [u8; 64]>,
    mut data: D,
) {
    let wide_blocks = 4 * I::QUADS;
    let mut at = 0;
    if lead.is_some() && data.len() > 64 * (wide_blocks - 1) {
        at = 64 * (wide_blocks - 1);
        // Whole vectors: nothing waits in it.
        let sink = &mut Pieces::new(lead.take(), data.window(0, at));
        wide::pass(isa, state, first, sink);
        first = first.wrapping_add(wide_blocks as u64);
    }
    while data.len() - at >= 64 * wide_blocks {
        wide::pass(isa, state, first, &mut data.window(at, 64 * wide_blocks));
        first = first.wrapping_add(wide_blocks as u64);
        at += 64 * wide_blocks;
    }
    let rest = data.len() - at;
    short(isa, state, first, lead, data.window(at, rest));
}

/// As [`run`], of a vertical pass at the most.
#[inline(always)]
pub(super) fn short<I: Isa, D: Data>(
    isa: I,
    state: &State,
    first: u64,
    lead: Option<&mut [u8; 64]>,
    data: D,
) {
    let blocks = data.len().div_ceil(64) + usize::from(lead.is_some());
    if blocks > 0 {
        let mut pieces = Pieces::new(lead, data);
        one_pass(isa, state, first, blocks, &mut pieces);
        pieces.finish(isa);
    }
}

/// The cheapest pass that has `blocks` blocks or more, at least 1 and at most a vertical pass.
#[inline(always)]
fn one_pass<I: Isa, S: Sink>(isa: I, state: &State, first: u64, blocks: usize, sink: &mut S) {
    const { assert!(I::WIDE_FROM <= 3 * I::QUADS + 1, "three chains must do below") };
    if blocks >= I::WIDE_FROM {
        return wide::pass(isa, state, first, sink);
    }
    match blocks.div_ceil(I::QUADS) {
        1 => narrow::pass::<I, _, 1>(isa, state, first, sink),
        2 => narrow::pass::<I, _, 2>(isa, state, first, sink),
        _ => narrow::pass::<I, _, 3>(isa, state, first, sink),
    }
}

/// As [`run`], where loads and stores have masks: every pass goes straight to the data, a single
/// block through vectors of its own.
#[inline(always)]
pub(super) fn direct<I: Isa, J: Isa, D: Data>(
    isa: I,
    single: J,
    state: &State,
    mut first: u64,
    mut lead: Option<&mut [u8; 64]>,
    mut data: D,
) {
    let wide_blocks = 4 * I::QUADS;
    let apart = if lead.is_some() { 64 } else { 0 };
    let mut at = 0;
    if apart + data.len() > 64 * wide_blocks {
        if lead.is_some() {
            at = 64 * (wide_blocks - 1);
            let sink = &mut Parts { lead: lead.take(), data: data.window(0, at) };
            wide::pass(isa, state, first, sink);
            first = first.wrapping_add(wide_blocks as u64);
        }
        let len = (data.len() - at) / (64 * wide_blocks) * (64 * wide_blocks);
        let mut passes = data.window(at, len);
        match len / (64 * wide_blocks) {
            0 => {}
            1 => wide::pass(isa, state, first, &mut passes),
            _ => wide::pipelined(isa, state, first, &mut passes),
        }
        first = first.wrapping_add(len as u64 / 64);
        at += len;
    }
    let apart = if lead.is_some() { 64 } else { 0 };
    let rest = data.len() - at;
    let sink = &mut Parts { lead, data: data.window(at, rest) };
    match (apart + rest).div_ceil(64) {
        0 => {}
        1 => one_pass(single, state, first, 1, sink),
        blocks => one_pass(isa, state, first, blocks, sink),
    }
}

/// The blocks from `first` on, at most a vertical pass of them.
#[inline(always)]
pub(super) fn at_most_a_pass<I: Isa, J: Isa, D: Data>(
    isa: I,
    single: J,
    state: &State,
    first: u64,
    data: D,
) {
    let blocks = data.len().div_ceil(64);
    let sink = &mut Parts { lead: None, data };
    match blocks {
        0 => {}
        1 => one_pass(single, state, first, 1, sink),
        // Three chains, which take less than a vertical pass here (Zen 5, 768 bytes: 540 cycles to 509;
        // four take more, 550 to 541).
        9..=12 => narrow::pass::<I, _, 3>(isa, state, first, sink),
        blocks => one_pass(isa, state, first, blocks, sink),
    }
}

/// As [`at_most_a_pass`], with a block apart, `first`, that is woven into it.
#[inline(always)]
pub(super) fn woven_into_a_pass<I: InOrder, D: Data>(
    isa: I,
    state: &State,
    first: u64,
    lead: &mut [u8; 64],
    data: D,
) {
    let blocks = data.len().div_ceil(64);
    let sink = &mut Parts { lead: None, data };
    match blocks.div_ceil(I::QUADS) {
        0 | 1 => narrow::woven_pass::<I, _, 1>(isa, state, first, lead, sink),
        2 => narrow::woven_pass::<I, _, 2>(isa, state, first, lead, sink),
        _ => wide::woven_pass(isa, state, first, lead, sink),
    }
}

/// Two vertical passes at a time, where one leaves the vector units waiting, as long as there is work
/// for more than one. Gives how far that came, in bytes of `data`.
#[inline(always)]
pub(super) fn in_pairs<I: InOrder, D: Data>(
    isa: I,
    state: &State,
    mut first: u64,
    lead: Option<&mut [u8; 64]>,
    data: &mut D,
) -> usize {
    let (pair, one) = (64 * 8 * I::QUADS, 64 * 4 * I::QUADS);
    let (mut at, end) = (0, data.len());
    if let Some(lead) = lead {
        // Among the others, unless it would be one too many for their passes: it costs a pair more than
        // a pass, since a pair leaves nothing idle (Zen 5, 1350 bytes: 1111 cycles to seal, 1068).
        if (1 + end.div_ceil(64)) % (8 * I::QUADS) == 1 {
            at = end.min(pair);
            let sink = &mut Parts { lead: None, data: data.window(0, at) };
            pair::woven_pass(isa, state, first, lead, sink);
            first = first.wrapping_add(1);
        } else {
            at = end.min(pair - 64);
            let sink = &mut Parts { lead: Some(lead), data: data.window(0, at) };
            pair::pass(isa, state, first, sink);
        }
        first = first.wrapping_add(8 * I::QUADS as u64);
    }
    while end - at >= pair {
        pair::pass(isa, state, first, &mut data.window(at, pair));
        first = first.wrapping_add(8 * I::QUADS as u64);
        at += pair;
    }
    if end - at > one {
        let sink = &mut Parts { lead: None, data: data.window(at, end - at) };
        pair::pass(isa, state, first, sink);
        at = end;
    }
    at
}

/// Tells the tests that a body runs, and for how many blocks.
#[inline(always)]
pub(super) fn record(_body: &'static str, _blocks: usize) {
    #[cfg(test)]
    RAN.with_borrow_mut(|ran| ran.push((_body, _blocks)));
}

#[cfg(test)]
std::thread_local! {
    static RAN: core::cell::RefCell<std::vec::Vec<(&'static str, usize)>> = const {
        core::cell::RefCell::new(std::vec::Vec::new())
    };
}

/// What was recorded while `run` ran.
#[cfg(test)]
pub(super) fn recorded(run: impl FnOnce()) -> std::vec::Vec<(&'static str, usize)> {
    RAN.take();
    run();
    RAN.take()
}

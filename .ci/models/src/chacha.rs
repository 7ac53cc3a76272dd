//! Stands for ChaCha20, which threads don't share anything of: other keys, counters and blocks give other
//! bytes, and quickly.

use std::prelude::rust_2024::*;

pub(crate) mod data {
    pub(crate) struct Keystream<'a>(pub(crate) &'a mut [u8]);
}

pub(crate) struct State(u64);

impl State {
    pub(crate) fn with_nonce_96(key: &[u8; 32], _: &[u8; 12], _: u32, _: usize) -> Self {
        Self(key.iter().fold(0xcbf2_9ce4_8422_2325, |all, byte| mixed(all ^ u64::from(*byte))))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Core;

impl Core {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn unasked() -> Self {
        Self
    }

    pub(crate) fn run(
        &self,
        state: &State,
        mut counter: u64,
        first: Option<&mut [u8; 64]>,
        data::Keystream(out): data::Keystream<'_>,
    ) {
        for block in first.into_iter().map(<[u8; 64]>::as_mut_slice).chain(out.chunks_mut(64)) {
            for (i, bytes) in block.chunks_mut(8).enumerate() {
                let word = mixed(state.0 ^ mixed(8 * counter + i as u64));
                bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
            }
            counter += 1;
        }
    }
}

pub(crate) fn block(key: &[u8; 32], counter: u32, nonce: &[u8; 12]) -> [u8; 64] {
    let mut out = [0; 64];
    let state = State::with_nonce_96(key, nonce, 0, 10);
    Core::new().run(&state, counter.into(), None, data::Keystream(&mut out));
    out
}

/// A step of SplitMix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

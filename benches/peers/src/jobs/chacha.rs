//! Job `chacha`: the keystream xored into a message, in place, a fresh nonce each.

use super::{Bench, LENGTHS, Message};
use crate::measure::{Candidate, Series, Subject};
use crate::peers::Peer;

/// Up to this many whole blocks are timed one by one: beyond the widest pass, and its double.
const MOST_BLOCKS: usize = 40;

/// Times the lengths of every job, and then each number of blocks.
pub fn run(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    let lengths = LENGTHS.iter().map(|&length| ("xor", length));
    let blocks = (1..=MOST_BLOCKS).map(|blocks| ("blocks", 64 * blocks));
    lengths
        .chain(blocks)
        .flat_map(|(variant, length)| {
            let message = Message::new(length);
            let candidates = peers
                .iter_mut()
                .filter_map(|peer| {
                    let (cipher, message) = (peer.chacha20.as_deref_mut()?, &message);
                    let run = move |calls| message.with(|data| cipher.time_xor(calls, data));
                    Some(Candidate { name: peer.name, run: Box::new(run) })
                })
                .collect();
            bench.measure(Subject { job: "chacha", variant, length, messages: 1 }, candidates)
        })
        .collect()
}

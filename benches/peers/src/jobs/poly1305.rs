//! Job `poly1305`: one-shot tags, the one-time key set up in each call.

use super::{Bench, LENGTHS, Message};
use crate::measure::{Candidate, Series, Subject};
use crate::peers::Peer;

/// Times the lengths of every job.
pub fn run(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    LENGTHS
        .iter()
        .flat_map(|&length| {
            let message = Message::new(length);
            let candidates = peers
                .iter_mut()
                .filter_map(|peer| {
                    let (mac, message) = (peer.poly1305.as_deref_mut()?, &message);
                    let run = move |calls| message.with(|data| mac.time_mac(calls, data));
                    Some(Candidate { name: peer.name, run: Box::new(run) })
                })
                .collect();
            let subject = Subject { job: "poly1305", variant: "mac", length, messages: 1 };
            bench.measure(subject, candidates)
        })
        .collect()
}

//! Jobs `batch` and `sequential`: many packets under one key. No peer has a call for several
//! packets, or for a sequence, so they take one packet at a time. So does ours for now, under a
//! name that says so.

use core::cell::RefCell;

use super::{Bench, Message};
use crate::measure::{Candidate, Series, Subject};
use crate::peers::{OURS, Peer};
use crate::traits::{Aead, Packet, painted};

/// Packets in a batch.
const BATCH: usize = 16;

/// What our column is called while the library has neither `seal_batch` nor a `Sealer`.
const OURS_ONE_AT_A_TIME: &str = "keyspring, one at a time";

/// A small packet, a middling one, and a full QUIC or WireGuard packet.
const PACKET_LENGTHS: [usize; 3] = [64, 256, 1350];

/// Lengths of the messages of a sequence, from an empty one to a TLS record.
const SEQUENCE_LENGTHS: [usize; 10] = [0, 16, 64, 128, 192, 256, 512, 1350, 4096, 16384];

/// A timed loop over batches.
type Time = fn(&mut dyn Aead, u64, &mut [Packet]) -> u64;

/// Times batches, sealed and opened; results are per packet.
pub fn batch(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    let variants: [(&str, Time); 2] = [
        ("seal", |cipher, batches, packets| cipher.time_seal_batch(batches, packets)),
        ("open", |cipher, batches, packets| cipher.time_open_batch(batches, packets)),
    ];
    let mut series = Vec::new();
    for (variant, time) in variants {
        for length in PACKET_LENGTHS {
            let packet = || Packet { nonce: [0; 12], data: painted(length), tag: [0; 16] };
            let packets: RefCell<Vec<_>> = RefCell::new((0..BATCH).map(|_| packet()).collect());
            let candidates = candidates(peers, |cipher, batches| {
                time(cipher, batches, &mut packets.borrow_mut())
            });
            let subject = Subject { job: "batch", variant, length, messages: BATCH as u64 };
            series.extend(bench.measure(subject, candidates));
        }
    }
    series
}

/// Times messages sealed under consecutive nonces.
pub fn sequential(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    SEQUENCE_LENGTHS
        .iter()
        .flat_map(|&length| {
            let message = Message::new(length);
            let candidates = candidates(peers, |cipher, calls| {
                message.with(|data| cipher.time_seal_next(calls, data))
            });
            let subject = Subject { job: "sequential", variant: "seal", length, messages: 1 };
            bench.measure(subject, candidates)
        })
        .collect()
}

/// Every peer with an AEAD, timed by `time`.
fn candidates<'a>(
    peers: &'a mut [Peer],
    time: impl Fn(&mut dyn Aead, u64) -> u64 + Copy + 'a,
) -> Vec<Candidate<'a>> {
    let mut candidates = super::aead::candidates(peers, time);
    for candidate in &mut candidates {
        if candidate.name == OURS {
            candidate.name = OURS_ONE_AT_A_TIME;
        }
    }
    candidates
}

//! Jobs `batch` and `sequential`: many packets under one key. No peer has a call for several
//! packets, or for a sequence, so they take one packet at a time.

use core::array;
use core::cell::RefCell;

use super::aead::candidates;
use super::{Bench, Message};
use crate::measure::{Series, Subject};
use crate::peers::Peer;
use crate::traits::{Aead, BATCH, Packet, painted};

/// A small packet, a middling one, and a full QUIC or WireGuard packet.
const PACKET_LENGTHS: [usize; 3] = [64, 256, 1350];

/// Lengths of the messages of a sequence, from an empty one to a TLS record.
const SEQUENCE_LENGTHS: [usize; 10] = [0, 16, 64, 128, 192, 256, 512, 1350, 4096, 16384];

/// A timed loop over batches.
type Time = fn(&mut dyn Aead, u64, &mut [Packet; BATCH]) -> u64;

/// Times batches, sealed and opened; results are per packet.
pub fn batch(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    let variants: [(&str, Time); 2] = [
        ("seal", |cipher, batches, packets| cipher.time_seal_batch(batches, packets)),
        ("open", |cipher, batches, packets| cipher.time_open_batch(batches, packets)),
    ];
    let mut series = Vec::new();
    for (variant, time) in variants {
        for length in PACKET_LENGTHS {
            let packet = |_| Packet { nonce: [0; 12], data: painted(length), tag: [0; 16] };
            let packets = RefCell::new(array::from_fn(packet));
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

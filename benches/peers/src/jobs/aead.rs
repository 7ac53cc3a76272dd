//! Job `aead`: seal and open, 13 bytes of additional data, a fresh nonce each.

use core::cell::RefCell;

use super::{Bench, LENGTHS, Message};
use crate::measure::{Candidate, Series, Subject};
use crate::peers::Peer;
use crate::traits::{Aead, Sealed};

/// A timed loop that seals.
type Seal = fn(&mut dyn Aead, u64, &mut [u8]) -> u64;
/// A timed loop that opens.
type Open = fn(&mut dyn Aead, u64, &mut Sealed) -> u64;

/// Sealing: as fast as calls can overlap, with the key set up in each call, and one call after the
/// other.
const SEAL: [(&str, Seal); 3] = [
    ("seal", |cipher, calls, data| cipher.time_seal(calls, data)),
    ("seal with key", |cipher, calls, data| cipher.time_seal_with_key(calls, data)),
    ("seal, latency", |cipher, calls, data| cipher.time_seal_latency(calls, data)),
];

/// Opening.
const OPEN: [(&str, Open); 2] = [
    ("open", |cipher, calls, work| cipher.time_open(calls, work)),
    ("open with key", |cipher, calls, work| cipher.time_open_with_key(calls, work)),
];

/// Times the lengths of every job in each variant.
pub fn run(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    let mut series = Vec::new();
    for (variant, time) in SEAL {
        for length in LENGTHS {
            let message = Message::new(length);
            let candidates =
                candidates(peers, |cipher, calls| message.with(|data| time(cipher, calls, data)));
            series.extend(bench.measure(subject(variant, length), candidates));
        }
    }
    for (variant, time) in OPEN {
        for length in LENGTHS {
            let work = RefCell::new(Sealed::new(length));
            let candidates =
                candidates(peers, |cipher, calls| time(cipher, calls, &mut work.borrow_mut()));
            series.extend(bench.measure(subject(variant, length), candidates));
        }
    }
    series
}

fn subject(variant: &'static str, length: usize) -> Subject {
    Subject { job: "aead", variant, length, messages: 1 }
}

/// Every peer with an AEAD, timed by `time`.
pub fn candidates<'a>(
    peers: &'a mut [Peer],
    time: impl Fn(&mut dyn Aead, u64) -> u64 + Copy + 'a,
) -> Vec<Candidate<'a>> {
    peers
        .iter_mut()
        .filter_map(|peer| {
            let cipher = peer.aead.as_deref_mut()?;
            let run = move |calls| time(cipher, calls);
            Some(Candidate { name: peer.name, run: Box::new(run) })
        })
        .collect()
}

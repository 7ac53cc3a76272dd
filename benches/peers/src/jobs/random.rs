//! Jobs `rng` and `keygen`: random bytes, integers and keys. A peer's key is filled and dropped;
//! ours is wiped as well.

use super::{Bench, Message};
use crate::measure::{Candidate, Series, Subject};
use crate::peers::{Peer, Source};
use crate::traits::Random;

/// The sizes of requests in bytes.
const LENGTHS: [usize; 9] = [4, 8, 16, 32, 64, 256, 1024, 4096, 1 << 20];

/// A timed loop.
type Time = fn(&mut dyn Random, u64) -> u64;

/// Times requests of every size, and integers where a source has a call for them.
pub fn rng(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    let mut series = Vec::new();
    for length in LENGTHS {
        let message = Message::new(length);
        let candidates = candidates(
            peers,
            |_| true,
            |random, calls| message.with(|dst| random.time_fill(calls, dst)),
        );
        series.extend(bench.measure(subject("rng", "fill", length), candidates));
    }
    let u32s = candidates(
        peers,
        |source| source.random.u32().is_some(),
        |random, calls| random.time_u32(calls),
    );
    series.extend(bench.measure(subject("rng", "u32", 4), u32s));
    let u64s = candidates(
        peers,
        |source| source.random.u64().is_some(),
        |random, calls| random.time_u64(calls),
    );
    series.extend(bench.measure(subject("rng", "u64", 8), u64s));
    series
}

/// Times keys of 32 bytes and session keys of 256.
pub fn keygen(bench: Bench, peers: &mut [Peer]) -> Vec<Series> {
    let keys: [(usize, Time); 2] = [
        (32, |random, calls| random.time_key_32(calls)),
        (256, |random, calls| random.time_key_256(calls)),
    ];
    keys.into_iter()
        .flat_map(|(length, time)| {
            let candidates = candidates(peers, |_| true, time);
            bench.measure(subject("keygen", "key", length), candidates)
        })
        .collect()
}

fn subject(job: &'static str, variant: &'static str, length: usize) -> Subject {
    Subject { job, variant, length, messages: 1 }
}

/// Every source for which `wanted` holds, timed by `time`.
fn candidates<'a>(
    peers: &'a mut [Peer],
    wanted: impl Fn(&mut Source) -> bool + 'a,
    time: impl Fn(&mut dyn Random, u64) -> u64 + Copy + 'a,
) -> Vec<Candidate<'a>> {
    peers
        .iter_mut()
        .flat_map(|peer| &mut peer.random)
        .filter_map(|source| wanted(source).then_some(source))
        .map(|source| {
            let random = &mut *source.random;
            Candidate { name: source.name, run: Box::new(move |calls| time(random, calls)) }
        })
        .collect()
}

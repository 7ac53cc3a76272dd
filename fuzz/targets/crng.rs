//! `SeededCrng` against a model that is a page of code, and an owned generator on a source that
//! fails: its bytes are never used twice, and a buffer is whole or untouched.

#![no_main]

use arbitrary::Arbitrary;
use keyspring::chacha::block;
use keyspring::crng::{Crng, EntropySource, Error, SeededCrng};
use keyspring_fuzz::on_every_backend;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    seed: [u8; 32],
    calls: Vec<Call>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Call {
    Fill(u16),
    U8,
    U16,
    U32,
    U64,
    U128,
    Reseed,
    /// The source fails from here on, or no longer.
    Fail(bool),
}

/// Fast key erasure, 16 blocks at a time: the first 32 bytes are the next key.
struct Model {
    key: [u8; 32],
    buffer: Vec<u8>,
}

impl Model {
    fn take(&mut self, len: usize) -> Vec<u8> {
        while self.buffer.len() < len {
            let blocks = (0..16).flat_map(|counter| block(&self.key, counter, &[0; 12]));
            let stream: Vec<_> = blocks.collect();
            self.key.copy_from_slice(&stream[..32]);
            self.buffer.extend_from_slice(&stream[32..]);
        }
        self.buffer.drain(..len).collect()
    }
}

fn seeded(backend: &str, input: &Input) {
    let mut model = Model { key: input.seed, buffer: Vec::new() };
    let mut crng = SeededCrng::from_seed(input.seed);
    for call in &input.calls {
        let bytes = match *call {
            Call::Fill(len) => {
                let mut bytes = vec![0; usize::from(len) % 5000];
                crng.fill(&mut bytes);
                bytes
            }
            Call::U8 => crng.u8().to_le_bytes().to_vec(),
            Call::U16 => crng.u16().to_le_bytes().to_vec(),
            Call::U32 => crng.u32().to_le_bytes().to_vec(),
            Call::U64 => crng.u64().to_le_bytes().to_vec(),
            Call::U128 => crng.u128().to_le_bytes().to_vec(),
            Call::Reseed | Call::Fail(_) => continue,
        };
        assert_eq!(bytes, model.take(bytes.len()), "{backend}, {call:?}");
    }
}

/// Entropy that counts, and fails when it is told to.
struct Source {
    draws: u64,
    fails: std::rc::Rc<std::cell::Cell<bool>>,
}

impl EntropySource for Source {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        self.draws += 1;
        for (i, byte) in dst.iter_mut().enumerate() {
            *byte = self.draws.to_le_bytes()[i % 8] ^ i as u8;
        }
        if self.fails.get() { Err(Error::SOURCE) } else { Ok(()) }
    }
}

fn owned(backend: &str, input: &Input) {
    let fails = std::rc::Rc::new(std::cell::Cell::new(false));
    let source = Source { draws: u64::from(input.seed[0]), fails: fails.clone() };
    let mut crng = Crng::builder().source(source).build().expect("the source works at first");
    let mut seen = std::collections::HashSet::new();
    for call in input.calls.iter().take(40) {
        match *call {
            Call::Fail(now) => fails.set(now),
            Call::Reseed => assert_eq!(crng.reseed().is_ok(), !fails.get(), "{backend}"),
            Call::Fill(len) => {
                let mut bytes = vec![0xee; usize::from(len) % 5000];
                if crng.try_fill(&mut bytes).is_err() {
                    assert!(bytes.iter().all(|byte| *byte == 0), "{backend}: half filled");
                }
                for window in bytes.chunks_exact(16) {
                    assert!(seen.insert(window.to_vec()), "{backend}: the same bytes twice");
                }
            }
            _ => {}
        }
    }
}

fuzz_target!(|input: Input| {
    on_every_backend(|backend| {
        seeded(backend, &input);
        owned(backend, &input);
    });
});

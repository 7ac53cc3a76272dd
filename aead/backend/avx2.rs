//! AVX2: eight blocks of ChaCha20 with scalar Poly1305 between their rounds, and on Zen 5 sixteen.

use super::Backend;
use crate::aead::fused::{self, Pass, Vertical};
use crate::chacha::State;
use crate::chacha::backend::avx2::{Avx2, pair};
use crate::chacha::data::Sink;
use crate::cpu::{Head, Tuning};
use crate::poly1305::scalar;

cpufeatures::new!(avx2, "avx2");

pub(super) const ROW: Backend =
    Backend { head: Head { name: "avx2", level: 20, usable: avx2::get }, chunk: 512, seal };

#[target_feature(enable = "avx2")]
fn seal(
    state: &State,
    mut first: u64,
    mac: &mut scalar::State,
    source: Option<&[u8]>,
    out: &mut [u8],
    encrypted: usize,
) -> usize {
    let isa = Avx2::new();
    let (mut authenticated, mut at) = (0, encrypted);
    if Tuning::current() == Tuning::Zen5 {
        authenticated = fused::seal(Two(isa), state, first, mac, source, out, at);
        let len = (out.len() - at) / Two::CHUNK * Two::CHUNK;
        first = first.wrapping_add((len / 64) as u64);
        at += len;
    }
    let source = source.map(|source| &source[authenticated..]);
    let out = &mut out[authenticated..];
    authenticated + fused::seal(Vertical(isa), state, first, mac, source, out, at - authenticated)
}

/// Two passes in step.
#[derive(Clone, Copy)]
struct Two(Avx2);

impl Pass for Two {
    const CHUNK: usize = 1024;

    #[inline(always)]
    fn run<S: Sink>(self, state: &State, first: u64, sink: &mut S, between: impl FnMut()) {
        pair::pass(self.0, state, first, sink, between);
    }
}

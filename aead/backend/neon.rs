//! NEON: eight blocks of ChaCha20 with scalar Poly1305 between their rounds.
//!
//! A model, not a measurement: by llvm-mca, a double round with four blocks of Poly1305 costs 151 cycles
//! on Neoverse N1 and 69 on V1. One after the other, with vectors for both, that is 186 and 99.

use super::Backend;
use crate::aead::fused::{self, Vertical};
use crate::chacha::State;
use crate::chacha::backend::neon::Neon;
use crate::cpu::Head;
use crate::poly1305::scalar;

pub(super) const ROW: Backend =
    Backend { head: Head { name: "neon", level: 10, usable: || true }, chunk: 512, seal };

fn seal(
    state: &State,
    first: u64,
    mac: &mut scalar::State,
    source: Option<&[u8]>,
    out: &mut [u8],
    encrypted: usize,
) -> usize {
    fused::seal(Vertical(Neon(())), state, first, mac, source, out, encrypted)
}

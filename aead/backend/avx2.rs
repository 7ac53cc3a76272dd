//! AVX2: eight blocks of ChaCha20 with scalar Poly1305 between their rounds.

use super::Backend;
use crate::aead::fused;
use crate::chacha::State;
use crate::chacha::backend::avx2::Avx2;
use crate::cpu::Head;
use crate::poly1305::scalar;

cpufeatures::new!(avx2, "avx2");

pub(super) const ROW: Backend =
    Backend { head: Head { name: "avx2", level: 20, usable: avx2::get }, chunk: 512, seal };

#[target_feature(enable = "avx2")]
fn seal(
    state: &State,
    first: u64,
    mac: &mut scalar::State,
    source: Option<&[u8]>,
    out: &mut [u8],
    encrypted: usize,
) -> usize {
    fused::seal(Avx2::new(), state, first, mac, source, out, encrypted)
}

//! The table of rows that seal in one pass; without one that fits, the two dispatchers run one after
//! the other.
//!
//! A row weaves scalar Poly1305 into one ChaCha20 kernel, so it runs only where that very kernel is
//! the one that ChaCha20 has settled on: beside a wider one it loses to the two dispatchers (Zen 5,
//! 64 KiB: 93.9 k cycles with the AVX2 row, 41.9 k with AVX-512 and IFMA one after the other).

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod avx2;
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;

use crate::chacha::{self, State};
use crate::cpu::{self, Head, Memo, Row, Usable};
use crate::poly1305::scalar;
use crate::section::{self, Primitive};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Backend {
    head: Head,
    /// The bytes that are encrypted at a time.
    chunk: usize,
    seal: Seal,
}

/// [`fused::seal`](super::fused::seal). To call one is safe where its row's `usable()` holds.
type Seal = unsafe fn(&State, u64, &mut scalar::State, Option<&[u8]>, &mut [u8], usize) -> usize;

impl Row for Backend {
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Best first. It may be empty, and no row need be usable.
pub(crate) static TABLE: &[Backend] = &[
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    avx2::ROW,
    #[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
    neon::ROW,
];

/// A usable row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fused {
    row: Usable<Backend>,
}

impl Fused {
    /// The one that weaves the kernel of this ChaCha20 row, if there is one.
    #[inline]
    pub(crate) fn beside(chacha: chacha::Core) -> Option<Self> {
        static MEMO: Memo = Memo::new();
        cpu::choose(TABLE, &MEMO).filter(|row| row.name() == chacha.name()).map(Self::on)
    }

    /// A given row.
    pub(crate) fn on(row: Usable<Backend>) -> Self {
        Self { row }
    }

    pub(crate) fn name(self) -> &'static str {
        self.row.name()
    }

    /// The bytes of a chunk.
    pub(super) fn chunk(self) -> usize {
        self.row.chunk
    }

    /// Encrypts whole chunks, of which block `first` is the first, from byte `encrypted` of `out`
    /// on, in sections, and authenticates from byte 0 on. The message lies in `source`, byte for
    /// byte, or in `out` itself. Returns how far each of both came: encrypted, authenticated; it
    /// stops where vectors may not be used.
    pub(super) fn seal(
        self,
        state: &State,
        mut first: u64,
        mac: &mut scalar::State,
        source: Option<&[u8]>,
        out: &mut [u8],
        mut encrypted: usize,
    ) -> (usize, usize) {
        let chunk = self.row.chunk;
        let mut authenticated = 0;
        loop {
            let rest = (out.len() - encrypted).min(Primitive::Aead.section(self.row.head()));
            let now = rest - rest % chunk;
            if now == 0 {
                return (encrypted, authenticated);
            }
            let end = encrypted + now;
            let source = source.map(|source| &source[authenticated..end]);
            let out = &mut out[authenticated..end];
            let encrypted_here = encrypted - authenticated;
            let sealed = section::attempt(Primitive::Aead, self.row, |row| {
                // SAFETY: the row was found usable.
                unsafe { (row.seal)(state, first, mac, source, out, encrypted_here) }
            });
            let Some(authenticated_here) = sealed else {
                return (encrypted, authenticated);
            };
            authenticated += authenticated_here;
            first = first.wrapping_add((now / 64) as u64);
            encrypted = end;
        }
    }
}

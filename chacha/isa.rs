//! What an instruction set must offer, so that the kernel bodies can be written once.
//!
//! An implementor is a *token*: a type that can only be made where its instructions may run, so
//! that a method needs no proof beyond its own receiver. A vector holds 32-bit words in
//! [`Isa::QUADS`] lanes of 128 bits; a *row* is one row of the state matrix (four words) in each
//! of these lanes.

/// A token and the vector operations that it allows.
pub(crate) trait Isa: Copy {
    /// A vector of 32-bit words.
    type V: Copy;

    /// How many 128-bit lanes a vector has.
    const QUADS: usize;

    /// From how many blocks on one vertical pass costs less than row-wise chains; at most
    /// `3 * QUADS + 1`.
    const WIDE_FROM: usize;

    /// The bytes of a vector.
    const BYTES: usize = 16 * Self::QUADS;

    /// The same word everywhere.
    fn splat(self, word: u32) -> Self::V;

    /// The same row in each 128-bit lane.
    fn row(self, words: &[u32; 4]) -> Self::V;

    /// Adds `n` and the number of each 128-bit lane to the 64-bit counter in words 0 and 1 of that
    /// lane.
    fn count_row(self, row: Self::V, n: u64) -> Self::V;

    /// The counters of consecutive blocks, one to a 32-bit lane, from `first` on: low and high
    /// words. The carry into the high word is each lane's own.
    fn count_lanes(self, first: u64) -> (Self::V, Self::V);

    /// The first `BYTES` of `bytes`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn load(self, bytes: &[u8]) -> Self::V;

    /// Stores to the first `BYTES` of `bytes`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn store(self, bytes: &mut [u8], v: Self::V);

    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;

    /// Rotations of each word to the left, by the four amounts of the quarter round.
    fn rotl16(self, v: Self::V) -> Self::V;
    fn rotl12(self, v: Self::V) -> Self::V;
    fn rotl8(self, v: Self::V) -> Self::V;
    fn rotl7(self, v: Self::V) -> Self::V;

    /// In each 128-bit lane, word `i` becomes word `i + 1`, `i + 2`, `i + 3` (mod 4).
    fn turn1(self, v: Self::V) -> Self::V;
    fn turn2(self, v: Self::V) -> Self::V;
    fn turn3(self, v: Self::V) -> Self::V;

    /// Transposes, in each 128-bit lane, the 4 x 4 words of four vectors.
    fn transpose_words(self, v: [Self::V; 4]) -> [Self::V; 4];

    /// Transposes the 128-bit lanes of four vectors: from row `i` of each block in vector `i` to
    /// whole blocks in the order of memory. Lane `q` belongs to the `q`-th block before, and the
    /// bytes of the `q`-th block stand together after.
    fn transpose_quads(self, v: [Self::V; 4]) -> [Self::V; 4];
}

/// The quarter round (RFC 8439, section 2.1) on four vectors at once.
#[inline(always)]
pub(crate) fn quarter_round<I: Isa>(isa: I, [a, b, c, d]: [I::V; 4]) -> [I::V; 4] {
    let a = isa.add(a, b);
    let d = isa.rotl16(isa.xor(d, a));
    let c = isa.add(c, d);
    let b = isa.rotl12(isa.xor(b, c));
    let a = isa.add(a, b);
    let d = isa.rotl8(isa.xor(d, a));
    let c = isa.add(c, d);
    let b = isa.rotl7(isa.xor(b, c));
    [a, b, c, d]
}

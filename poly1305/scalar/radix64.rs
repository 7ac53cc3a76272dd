//! Three limbs of 64 bits, the top one short.
//!
//! ```text
//! for each block m:  h = (h + m + 2^128) * r  mod 2^130 - 5
//! ```
//!
//! 1. r is clamped: r0, r1 < 2^60, and r1 is a multiple of 4. What a product has at 2^128 and above
//!    wraps as 2^130 = 5: h1 r1 2^128 = h1 (5 r1 / 4), and 5 r1 / 4 = r1 + r1 / 4 is exact.
//! 2. h is only reduced in part: h2 <= 4 between blocks, and 6 at the most after adding a block. So
//!    what is computed in 64 bits fits: h2 s1 < 6 * 1.25 * 2^60, d2 < 6 * 2^60 + 2^62 < 2^63, and
//!    5 d2 / 4 < 2^64. Each sum of products stays below 2^127.

use zeroize::Zeroize;

use super::{CLAMP, WHOLE, pad};

/// The accumulator h and the key r.
#[derive(Clone)]
pub(crate) struct State {
    h: [u64; 3],
    r: [u64; 2],
}

impl State {
    pub(crate) fn new(r: &[u8; 16]) -> Self {
        Self { h: [0; 3], r: clamped(r) }
    }

    /// Any accumulator, also one that no message leads to.
    #[cfg(test)]
    pub(crate) fn with_accumulator(r: &[u8; 16], h: [u64; 3]) -> Self {
        let mut state = Self::new(r);
        state.h = h;
        state
    }

    /// Takes in whole blocks.
    #[inline]
    pub(crate) fn blocks(&mut self, blocks: &[[u8; 16]]) {
        self.h = all(self.h, self.r, blocks);
    }

    /// Takes in a last block of 1 to 15 bytes.
    #[inline]
    pub(crate) fn last(&mut self, bytes: &[u8]) {
        self.h = step(self.h, self.r, pad(bytes), 0);
    }

    /// The tag: h reduced in full, plus s, modulo 2^128.
    #[inline]
    pub(crate) fn tag(&self, s: &[u8; 16]) -> [u8; 16] {
        tag(self.h, s)
    }
}

/// The tag of a whole message, without a state in memory.
#[inline]
pub(crate) fn mac(r: &[u8; 16], s: &[u8; 16], message: &[u8]) -> [u8; 16] {
    let r = clamped(r);
    let (blocks, last) = message.as_chunks();
    let mut h = all([0; 3], r, blocks);
    if !last.is_empty() {
        h = step(h, r, pad(last), 0);
    }
    tag(h, s)
}

/// The accumulator and the key in registers, for a body that has other things to do between blocks.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    h: [u64; 3],
    r: [u64; 2],
}

impl Running {
    /// Takes in a whole block.
    #[inline(always)]
    pub(crate) fn block(&mut self, block: &[u8; 16]) {
        self.h = step(self.h, self.r, u128::from_le_bytes(*block), WHOLE);
    }
}

impl State {
    #[inline(always)]
    pub(crate) fn running(&self) -> Running {
        Running { h: self.h, r: self.r }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, running: Running) {
        self.h = running.h;
    }
}

/// The same numbers in `N` limbs of 130 / N bits, rounded up, for the vector bodies.
impl State {
    /// The accumulator.
    #[inline(always)]
    pub(crate) fn limbs<const N: usize>(&self) -> [u64; N] {
        limbs(self.h)
    }

    /// r.
    #[inline(always)]
    pub(crate) fn key<const N: usize>(&self) -> [u64; N] {
        limbs([self.r[0], self.r[1], 0])
    }

    /// Sets the accumulator from limbs that reach less than 2^18 times above their bits. They are
    /// added, never put side by side: a limb may reach into the next.
    #[inline(always)]
    pub(crate) fn set_limbs<const N: usize>(&mut self, limbs: [u64; N]) {
        let at = |i: usize| bits(N) * i as u32;
        // Below 2^124.
        let mut low = 0;
        for (i, limb) in limbs[..N - 1].iter().enumerate() {
            low += u128::from(*limb) << at(i);
        }
        let (low, carry) = low.overflowing_add(u128::from(limbs[N - 1]) << at(N - 1));
        let top = (limbs[N - 1] >> (128 - at(N - 1))) + u64::from(carry);
        // As at the end of a step.
        let (low, carry) = low.overflowing_add(u128::from(5 * (top >> 2)));
        self.h = [low as u64, (low >> 64) as u64, (top & 3) + u64::from(carry)];
    }
}

#[inline(always)]
fn limbs<const N: usize>([h0, h1, h2]: [u64; 3]) -> [u64; N] {
    let low = u128::from(h1) << 64 | u128::from(h0);
    let mut limbs = [0; N];
    for (i, limb) in limbs.iter_mut().enumerate() {
        *limb = (low >> (bits(N) * i as u32)) as u64 & ((1 << bits(N)) - 1);
    }
    // The top one ends at bit 128 of the low words, and goes on with h2.
    limbs[N - 1] |= h2 << (128 - bits(N) * (N as u32 - 1));
    limbs
}

/// The bits of a limb where there are `n`.
const fn bits(n: usize) -> u32 {
    130u32.div_ceil(n as u32)
}

impl Drop for State {
    fn drop(&mut self) {
        self.h.zeroize();
        self.r.zeroize();
    }
}

#[inline(always)]
fn clamped(r: &[u8; 16]) -> [u64; 2] {
    let r = u128::from_le_bytes(*r) & CLAMP;
    [r as u64, (r >> 64) as u64]
}

/// h after whole blocks.
#[inline(always)]
fn all(h: [u64; 3], r: [u64; 2], blocks: &[[u8; 16]]) -> [u64; 3] {
    let Some((first, rest)) = blocks.split_first() else { return h };
    let mut h = add(h, u128::from_le_bytes(*first), WHOLE);
    for block in rest {
        h = multiply_add(h, r, u128::from_le_bytes(*block), WHOLE);
    }
    multiply_add(h, r, 0, 0)
}

/// h reduced in full, plus s, modulo 2^128.
#[inline(always)]
fn tag([h0, h1, h2]: [u64; 3], s: &[u8; 16]) -> [u8; 16] {
    // h2 <= 4, so h < 2 p, and h >= p exactly where h + 5 reaches bit 130.
    let low = u128::from(h1) << 64 | u128::from(h0);
    let (reduced, carry) = low.overflowing_add(5);
    let reaches = (h2 + u64::from(carry)) >> 2;
    let mask = u128::from(reaches).wrapping_neg();
    let h = low & !mask | reduced & mask;
    h.wrapping_add(u128::from_le_bytes(*s)).to_le_bytes()
}

/// `(h + block + top * 2^128) * r`, reduced in part.
#[inline(always)]
fn step(h: [u64; 3], r: [u64; 2], block: u128, top: u64) -> [u64; 3] {
    multiply_add(add(h, block, top), r, 0, 0)
}

/// `h + block + top * 2^128`.
#[inline(always)]
fn add([h0, h1, h2]: [u64; 3], block: u128, top: u64) -> [u64; 3] {
    let (low, carry) = (u128::from(h1) << 64 | u128::from(h0)).overflowing_add(block);
    [low as u64, (low >> 64) as u64, h2 + u64::from(carry) + top]
}

/// `h * r`, reduced in part, and the next block: it is added to what stays where it is, while what
/// wraps is not there yet.
#[inline(always)]
fn multiply_add([h0, h1, h2]: [u64; 3], [r0, r1]: [u64; 2], next: u128, top: u64) -> [u64; 3] {
    let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);

    let s1 = r1 + (r1 >> 2);
    let d0 = wide(h0, r0) + wide(h1, s1);
    let d1 = wide(h0, r1) + wide(h1, r0) + u128::from(h2 * s1) + (d0 >> 64);
    let d2 = h2 * r0 + (d1 >> 64) as u64;

    // What d2 has above its two low bits stands for multiples of 2^130: 5 times that is added at
    // the bottom.
    let h = add([d0 as u64, d1 as u64, d2 & 3], next, top);
    add(h, u128::from((d2 >> 2) + (d2 & !3)), 0)
}

#[cfg(test)]
mod proof {
    use super::*;

    /// Nothing here subtracts, so no sum is larger than that of the largest numbers that can come in. The
    /// tests are compiled with checks of overflow.
    #[test]
    fn sums_of_the_largest_limbs_fit_and_come_back_within_bounds() {
        let r = clamped(&[0xff; 16]);
        // Between blocks the top limb is at most 4; a block adds its bit 128 and a carry.
        for top in 0..=6 {
            let [_, _, top] = multiply_add([u64::MAX, u64::MAX, top], r, u128::MAX, WHOLE);
            assert!(top <= 6, "two low bits, a block and two carries: {top}");
        }
        // What d2 leaves is at most 3, and what is added to it two carries and bit 128.
        assert_eq!(add([u64::MAX, u64::MAX, 3], u128::MAX, WHOLE), [u64::MAX - 1, u64::MAX, 5]);
        assert_eq!(add([u64::MAX, u64::MAX, 5], u128::from(u64::MAX), 0)[2], 6);
    }
}

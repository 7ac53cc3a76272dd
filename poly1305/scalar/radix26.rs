//! Five limbs of 26 bits, for machines that multiply 32 by 32 bits.
//!
//! ```text
//! for each block m:  h = (h + m + 2^128) * r  mod 2^130 - 5
//! ```
//!
//! 1. Limb i stands for a multiple of 2^(26 i). The product of limbs i and j belongs to limb i + j;
//!    from limb 5 on it wraps as 2^130 = 5, so r is kept times 5 too.
//! 2. Bounds: between blocks each limb of h is below 2^26, but the second, which is below
//!    2^26 + 2^9; after adding a block, below 2^27 + 2^9. r's limbs are below 2^26 and 5 times that
//!    below 2^28.4, so a sum of five products stays below 2^58.

use zeroize::Zeroize;

use super::{CLAMP, WHOLE, pad};

const MASK: u32 = (1 << 26) - 1;

/// The accumulator h and the key r.
#[derive(Clone)]
pub(crate) struct State {
    h: [u32; 5],
    r: [u32; 5],
}

impl State {
    pub(crate) fn new(r: &[u8; 16]) -> Self {
        Self { h: [0; 5], r: limbs(u128::from_le_bytes(*r) & CLAMP, 0) }
    }

    /// Takes in whole blocks.
    #[inline]
    pub(crate) fn blocks(&mut self, blocks: &[[u8; 16]]) {
        for block in blocks {
            self.h = step(self.h, self.r, u128::from_le_bytes(*block), WHOLE);
        }
    }

    /// Takes in a last block of 1 to 15 bytes.
    #[inline]
    pub(crate) fn last(&mut self, bytes: &[u8]) {
        self.h = step(self.h, self.r, pad(bytes), 0);
    }

    /// The tag: h reduced in full, plus s, modulo 2^128.
    #[inline]
    pub(crate) fn tag(&self, s: &[u8; 16]) -> [u8; 16] {
        // Limbs are added, never put side by side: a limb may still hold a carry.
        let mut low = 0u128;
        for (i, limb) in self.h[..4].iter().enumerate() {
            low += u128::from(*limb) << (26 * i);
        }
        // Below 2^105 so far; the fifth limb reaches bit 130.
        let (low, carry) = low.overflowing_add(u128::from(self.h[4]) << 104);
        let top = (self.h[4] >> 24) + u32::from(carry);
        // h < 2 p, and h >= p exactly where h + 5 reaches bit 130.
        let (reduced, carry) = low.overflowing_add(5);
        let reaches = (top + u32::from(carry)) >> 2;
        let mask = u128::from(reaches).wrapping_neg();
        let h = low & !mask | reduced & mask;
        h.wrapping_add(u128::from_le_bytes(*s)).to_le_bytes()
    }
}

/// The tag of a whole message.
pub(crate) fn mac(r: &[u8; 16], s: &[u8; 16], message: &[u8]) -> [u8; 16] {
    let mut state = State::new(r);
    let (blocks, last) = message.as_chunks();
    state.blocks(blocks);
    if !last.is_empty() {
        state.last(last);
    }
    state.tag(s)
}

impl Drop for State {
    fn drop(&mut self) {
        self.h.zeroize();
        self.r.zeroize();
    }
}

/// The limbs of `low + top * 2^128`.
fn limbs(low: u128, top: u32) -> [u32; 5] {
    let limb = |i: u32| (low >> (26 * i)) as u32 & MASK;
    [limb(0), limb(1), limb(2), limb(3), (low >> 104) as u32 | top << 24]
}

/// `(h + block + top * 2^128) * r`, reduced in part.
#[inline(always)]
fn step(mut h: [u32; 5], r: [u32; 5], block: u128, top: u64) -> [u32; 5] {
    for (limb, m) in h.iter_mut().zip(limbs(block, top as u32)) {
        *limb += m;
    }
    let wide = |a: u32, b: u32| u64::from(a) * u64::from(b);
    let [s1, s2, s3, s4] = [5 * r[1], 5 * r[2], 5 * r[3], 5 * r[4]];
    let [h0, h1, h2, h3, h4] = h;
    let [r0, r1, r2, r3, r4] = r;
    let d = [
        wide(h0, r0) + wide(h1, s4) + wide(h2, s3) + wide(h3, s2) + wide(h4, s1),
        wide(h0, r1) + wide(h1, r0) + wide(h2, s4) + wide(h3, s3) + wide(h4, s2),
        wide(h0, r2) + wide(h1, r1) + wide(h2, r0) + wide(h3, s4) + wide(h4, s3),
        wide(h0, r3) + wide(h1, r2) + wide(h2, r1) + wide(h3, r0) + wide(h4, s4),
        wide(h0, r4) + wide(h1, r3) + wide(h2, r2) + wide(h3, r1) + wide(h4, r0),
    ];
    let mut carry = 0;
    for (limb, d) in h.iter_mut().zip(d) {
        let d = d + carry;
        *limb = d as u32 & MASK;
        carry = d >> 26;
    }
    // The carry out of the top is below 2^32, so 5 times that and a limb are below 2^35.
    let low = u64::from(h[0]) + 5 * carry;
    h[0] = low as u32 & MASK;
    h[1] += (low >> 26) as u32;
    h
}

#[cfg(test)]
mod proof {
    use super::*;

    /// Nothing here subtracts, so no sum is larger than that of the largest numbers that can come in. The
    /// tests are compiled with checks of overflow.
    #[test]
    fn sums_of_the_largest_limbs_fit() {
        let r = State::new(&[0xff; 16]).r;
        let mut h = [MASK; 5];
        h[1] += 1 << 9;
        // A carry of the second limb's largest size comes back: limb 0 takes 5 times one below 2^32.
        let [_, second, ..] = step(h, r, u128::MAX, WHOLE);
        assert!(second < (1 << 26) + (1 << 9), "{second:#x}");
        let largest = (u64::from(MASK) + 5 * u64::from(u32::MAX)) >> 26;
        assert!(u64::from(MASK) + largest < (1 << 26) + (1 << 9));
    }
}

//! What an instruction set must offer, so that the vector bodies can be written once.
//!
//! An implementor is a *token*: a type that can only be made where its instructions may run. A
//! vector has [`Isa::LANES`] lanes of 64 bits, each with one limb of one number.

use zeroize::Zeroize;

/// The lanes of the widest vector.
pub(super) const MOST_LANES: usize = 8;

/// A token and the vector operations that it allows.
pub(crate) trait Isa: Copy {
    /// A vector of 64-bit lanes.
    type V: Copy + Zeroize;

    /// A vector with the same number in every lane, as it lies in memory to be multiplied by: a single
    /// word where instructions take one for all lanes.
    type Factor: Copy + Zeroize;

    /// How many lanes a vector has: a power of two.
    const LANES: usize;

    /// Which block of a group each lane holds, after [`Isa::load`]; the first lane the first.
    const ORDER: &'static [usize];

    /// The same number in every lane.
    fn splat(self, x: u64) -> Self::V;

    /// The same number in the lanes that are asked for, and zero in the others.
    #[inline(always)]
    fn splat_to(self, x: u64, to: impl Fn(usize) -> bool) -> Self::V {
        self.lanes(|lane| if to(lane) { x } else { 0 })
    }

    /// One number for each lane.
    fn lanes(self, x: impl Fn(usize) -> u64) -> Self::V;

    /// The low and the high halves of a group of `LANES` blocks, in the order of [`Isa::ORDER`].
    ///
    /// # Panics
    ///
    /// If there are fewer blocks.
    fn load(self, blocks: &[[u8; 16]]) -> (Self::V, Self::V);

    /// The same of a group of which only the last blocks are there: zeros stand for the first.
    #[inline(always)]
    fn load_last(self, blocks: &[[u8; 16]]) -> (Self::V, Self::V) {
        let mut group = [[0; 16]; MOST_LANES];
        group[Self::LANES - blocks.len()..Self::LANES].copy_from_slice(blocks);
        let halves = self.load(&group);
        group.as_flattened_mut().zeroize();
        halves
    }

    /// As [`Isa::load`], of blocks that lie apart.
    #[inline(always)]
    fn gather<'a>(self, block: impl Fn(usize) -> &'a [u8; 16]) -> (Self::V, Self::V) {
        let half = |lane: usize, half: usize| {
            u64::from_le_bytes(block(Self::ORDER[lane]).as_chunks().0[half])
        };
        (self.lanes(|lane| half(lane, 0)), self.lanes(|lane| half(lane, 1)))
    }

    /// What lies in memory for a vector that is the same in every lane.
    fn factor(self, v: Self::V) -> Self::Factor;

    /// The vector again.
    fn vector(self, factor: Self::Factor) -> Self::V;

    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    fn shift_left<const N: i32>(self, v: Self::V) -> Self::V;
    fn shift_right<const N: i32>(self, v: Self::V) -> Self::V;

    /// The lanes of `a` that are asked for, and the others of `b`.
    #[inline(always)]
    fn pick(self, a: Self::V, b: Self::V, of_a: impl Fn(usize) -> bool) -> Self::V {
        let mask = |of_a: bool| if of_a { u64::MAX } else { 0 };
        let a = self.and(a, self.lanes(|lane| mask(of_a(lane))));
        self.or(a, self.and(b, self.lanes(|lane| mask(!of_a(lane)))))
    }

    /// The product of the low 32 bits of each lane.
    ///
    /// The compiler knows this as a 64-bit product of masked operands, and drops a mask that it
    /// proves needless; where the proof lies outside the loop, it then no longer finds the 32-bit
    /// instruction and multiplies in three. [`Isa::forget`] keeps it from the proof.
    fn multiply(self, a: Self::V, b: Self::V) -> Self::V;

    /// The same vector, of whose bits the compiler knows nothing.
    fn forget(self, v: Self::V) -> Self::V;

    /// What the lanes hold; zeros where there are none.
    fn store(self, v: Self::V) -> [u64; MOST_LANES];
}

/// Multiplication of 52 by 52 bits.
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) trait Multiply52: Isa {
    /// Adds the low 52 bits of the product of the low 52 bits of each lane.
    fn add_low(self, sum: Self::V, a: Self::V, b: Self::V) -> Self::V;

    /// Adds the high 52 bits of that product.
    fn add_high(self, sum: Self::V, a: Self::V, b: Self::V) -> Self::V;
}

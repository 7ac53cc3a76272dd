//! A deterministic generator whose stream never changes.

use core::convert::Infallible;
use core::fmt;
use core::ops::RangeBounds;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::generator::Generator;
use super::seed::extract;
use super::uniform::{self, Uniform};

/// The bytes that 16 blocks give, less the next key: part of the frozen stream.
const OUTPUT: usize = 64 * 16 - 32;

/// A generator that gives the same stream for the same seed, in every release, on every CPU:
/// ChaCha20 with fast key erasure, 1024 bytes a refill ("FKE-ChaCha20-1024").
///
/// The stream is one of bytes: integers are little endian from it, and how reads are split does not
/// change it.
///
/// # Security
///
/// As strong as its seed: for keys, take [`crate::crng`]'s free functions or
/// [`Crng`](super::Crng). Earlier output can't be computed from the state. It is not `Clone`, since
/// two copies would give the same bytes; [`split`](Self::split) makes an independent one. A fork of
/// the process does copy it.
///
/// # Examples
///
/// ```
/// use keyspring::crng::SeededCrng;
///
/// let mut rng = SeededCrng::from_seed([1; 32]);
/// let roll = rng.range(1..=6);
/// assert_eq!(SeededCrng::from_seed([1; 32]).range(1..=6), roll);
/// ```
pub struct SeededCrng {
    generator: Generator<OUTPUT>,
}

impl SeededCrng {
    /// Starts the stream of a seed.
    ///
    /// # Examples
    ///
    /// ```
    /// use keyspring::crng::SeededCrng;
    ///
    /// let (mut one, mut other) = (SeededCrng::from_seed([7; 32]), SeededCrng::from_seed([7; 32]));
    /// assert_eq!(one.u64(), other.u64());
    /// ```
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { generator: Generator::new(seed) }
    }

    /// Writes the next bytes of the stream over `dst`.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let mut bytes = [0; 4];
    /// SeededCrng::from_seed([1; 32]).fill(&mut bytes);
    /// assert_eq!(bytes, SeededCrng::from_seed([1; 32]).bytes());
    /// ```
    pub fn fill(&mut self, dst: &mut [u8]) {
        self.generator.fill(dst);
    }

    /// The next `N` bytes of the stream.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let bytes: [u8; 4] = SeededCrng::from_seed([1; 32]).bytes();
    /// assert_eq!(u32::from_le_bytes(bytes), SeededCrng::from_seed([1; 32]).u32());
    /// ```
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// The next byte.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let (mut rng, mut same) = (SeededCrng::from_seed([1; 32]), SeededCrng::from_seed([1; 32]));
    /// assert_eq!(rng.u8(), same.bytes::<1>()[0]);
    /// ```
    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.bytes())
    }

    /// The next 2 bytes, little endian.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let (mut rng, mut same) = (SeededCrng::from_seed([1; 32]), SeededCrng::from_seed([1; 32]));
    /// assert_eq!(rng.u16(), u16::from_le_bytes(same.bytes()));
    /// ```
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    /// The next 4 bytes, little endian.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let (mut rng, mut same) = (SeededCrng::from_seed([1; 32]), SeededCrng::from_seed([1; 32]));
    /// assert_eq!(rng.u32(), u32::from_le_bytes(same.bytes()));
    /// ```
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// The next 8 bytes, little endian.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let (mut rng, mut same) = (SeededCrng::from_seed([1; 32]), SeededCrng::from_seed([1; 32]));
    /// assert_eq!(rng.u64(), u64::from_le_bytes(same.bytes()));
    /// ```
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// The next 16 bytes, little endian.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let (mut rng, mut same) = (SeededCrng::from_seed([1; 32]), SeededCrng::from_seed([1; 32]));
    /// assert_eq!(rng.u128(), u128::from_le_bytes(same.bytes()));
    /// ```
    pub fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.bytes())
    }

    /// The lowest bit of the next byte.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let (mut rng, mut same) = (SeededCrng::from_seed([1; 32]), SeededCrng::from_seed([1; 32]));
    /// assert_eq!(rng.bool(), same.u8() % 2 == 1);
    /// ```
    pub fn bool(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// A number below `bound`, each with exactly the same probability.
    ///
    /// # Panics
    ///
    /// If `bound` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(keyspring::crng::SeededCrng::from_seed([7; 32]).below(6) < 6);
    /// ```
    pub fn below(&mut self, bound: u64) -> u64 {
        let Ok(number) = uniform::below(self, bound);
        number
    }

    /// A number in `range`, each with exactly the same probability.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    ///
    /// # Examples
    ///
    /// ```
    /// let roll: u8 = keyspring::crng::SeededCrng::from_seed([7; 32]).range(1..=6);
    /// assert!((1..=6).contains(&roll));
    /// ```
    pub fn range<T: Uniform>(&mut self, range: impl RangeBounds<T>) -> T {
        let Ok(number) = uniform::range(self, range);
        number
    }

    /// Brings `slice` into an order drawn from all with exactly the same probability (Fisher and
    /// Yates, 1938).
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let mut deck = [1, 2, 3, 4];
    /// SeededCrng::from_seed([1; 32]).shuffle(&mut deck);
    /// deck.sort();
    /// assert_eq!(deck, [1, 2, 3, 4]);
    /// ```
    pub fn shuffle<T>(&mut self, slice: &mut [T]) {
        let Ok(()) = uniform::shuffle(self, slice);
    }

    /// An independent generator, from the next 32 bytes of the stream and a label: different labels
    /// at the same place give unrelated streams.
    ///
    /// ```
    /// # use keyspring::crng::SeededCrng;
    /// let mut rng = SeededCrng::from_seed([1; 32]);
    /// let mut weather = rng.split(b"weather");
    /// let mut traffic = rng.split(b"traffic");
    /// assert_ne!(weather.u64(), traffic.u64());
    /// ```
    #[must_use]
    pub fn split(&mut self, label: &[u8]) -> Self {
        let mut key = self.bytes();
        let mut seed = extract(&key, &[label]);
        let child = Self::from_seed(seed);
        key.as_mut_slice().zeroize();
        seed.as_mut_slice().zeroize();
        child
    }
}

impl uniform::Words for SeededCrng {
    type Error = Infallible;

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Infallible> {
        Ok(self.bytes())
    }
}

impl fmt::Debug for SeededCrng {
    /// Shows nothing of the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededCrng").finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for SeededCrng {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_the_next_bytes_little_endian() {
        let seeded = || SeededCrng::from_seed([7; 32]);
        let bytes: [u8; 31] = seeded().bytes();
        let mut rng = seeded();
        assert_eq!(rng.u8().to_le_bytes(), bytes[..1]);
        assert_eq!(rng.u16().to_le_bytes(), bytes[1..3]);
        assert_eq!(rng.u32().to_le_bytes(), bytes[3..7]);
        assert_eq!(rng.u64().to_le_bytes(), bytes[7..15]);
        assert_eq!(rng.u128().to_le_bytes(), bytes[15..]);
        assert!((0..31).all(|at| {
            let mut rng = seeded();
            rng.fill(&mut [0; 31][..at]);
            rng.bool() == (bytes[at] & 1 == 1)
        }));
    }
}

//! Entropy, and the extractor over it.

#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
use core::hint::black_box;

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Error;

/// Where a generator gets its seeds from.
///
/// # Examples
///
/// ```
/// use keyspring::crng::{EntropySource, Error};
///
/// /// A hardware generator behind a register.
/// struct Trng;
/// # fn read_register() -> Option<u32> { Some(4) }
///
/// impl EntropySource for Trng {
///     fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
///         for bytes in dst.chunks_mut(4) {
///             let word = read_register().ok_or(Error::SOURCE)?;
///             bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait EntropySource {
    /// Writes entropy over the whole of `dst`.
    ///
    /// # Errors
    ///
    /// [`Error::SOURCE`] if it can't; what `dst` holds then is not used.
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error>;
}

/// The operating system's generator, through the `getrandom` crate. It is an [`EntropySource`] with
/// the feature of that name only.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "getrandom")] {
/// use keyspring::crng::{Crng, SystemEntropy};
///
/// let mut rng = Crng::builder().source(SystemEntropy).build()?;
/// # }
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

/// There is nothing in it to wipe.
impl ZeroizeOnDrop for SystemEntropy {}

#[cfg(feature = "getrandom")]
impl EntropySource for SystemEntropy {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(dst).map_err(|_| Error::SOURCE)
    }
}

/// 32 bytes of entropy. Equal bytes throughout have a probability of 2^-248, so a source that gives
/// them is broken.
pub(super) fn draw(source: &mut impl EntropySource) -> Result<[u8; 32], Error> {
    let mut bytes = [0; 32];
    let filled = source.fill(&mut bytes);
    // Without a branch on any of them: they are secret.
    let differs = bytes.iter().fold(0, |all, byte| all | (byte ^ bytes[0])) != 0;
    match filled {
        Ok(()) if differs => Ok(bytes),
        filled => {
            bytes.as_mut_slice().zeroize();
            Err(filled.err().unwrap_or(Error::WEAK))
        }
    }
}

#[cfg(all(
    feature = "std",
    feature = "getrandom",
    target_os = "linux",
    target_has_atomic = "64"
))]
pub(super) use self::pool::add_to_pool;
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
pub(super) use self::pool::{add_hardware_to_pool, pool};

/// What callers have added and the CPU gives, hashed. It is never credited.
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
mod pool {
    #[cfg(target_arch = "x86_64")]
    use core::sync::atomic::AtomicBool;
    use core::sync::atomic::{AtomicU64, Ordering};

    static POOL: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

    /// How often something was added, so that adding the same twice does not cancel out.
    static ADDED: AtomicU64 = AtomicU64::new(0);

    pub(in super::super) fn add_to_pool(bytes: &[u8]) {
        let number = ADDED.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let hash = super::extract(&[0; 32], &[&number, bytes]);
        for (word, bytes) in POOL.iter().zip(hash.as_chunks().0) {
            word.fetch_xor(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
    }

    /// Adds what the CPU gives, once per process: it takes microseconds.
    pub(in super::super) fn add_hardware_to_pool() {
        #[cfg(target_arch = "x86_64")]
        {
            static ASKED: AtomicBool = AtomicBool::new(false);
            if !ASKED.swap(true, Ordering::Relaxed) {
                add_to_pool(&super::super::hardware::numbers());
            }
        }
    }

    pub(in super::super) fn pool() -> [u8; 32] {
        let mut bytes = [0; 32];
        for (word, bytes) in POOL.iter().zip(bytes.as_chunks_mut().0) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        bytes
    }
}

/// Whether it is a key, and not the zeros of a page that was lost (rule R2). The verdict is public: one
/// branch says so, and what follows branches on it and not on the key.
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
#[inline(never)]
pub(super) fn is_a_key(key: &[u8; 32]) -> bool {
    let any = key.iter().fold(0, |all, byte| all | byte);
    if any != 0 { black_box(true) } else { black_box(false) }
}

/// BLAKE2s-256, keyed: `key` may be known or all zero, as long as one of the parts is not.
pub(super) fn extract(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Blake2sMac256::new(key.into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize_fixed().into()
}

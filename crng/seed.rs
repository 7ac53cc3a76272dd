//! Entropy, and the extractor over it.

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};

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
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

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
    source.fill(&mut bytes)?;
    if bytes.iter().all(|byte| *byte == bytes[0]) { Err(Error::WEAK) } else { Ok(bytes) }
}

/// BLAKE2s-256, keyed: `key` may be known or all zero, as long as one of the parts is not.
pub(super) fn extract(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Blake2sMac256::new(key.into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize_fixed().into()
}

//! The loop that makes keys and random bytes, a batch at a time.

use base64ct::{Base64, Encoding};
use keyspring::crng;
use zeroize::Zeroizing;

use crate::args::Format;
use crate::failure::Failure;
use crate::output::Output;

/// Bytes minted at a time: large enough that system calls cost nothing, small enough for the
/// second-level cache, and a multiple of 3, so that base64 pads the end of a key alone.
const BATCH: usize = 3 << 16;

/// Writes `keys` keys of `size` bytes each, both at least 1.
///
/// A batch is as many whole keys as fit, or a part of one key. Memory is the same whatever the
/// numbers, and what held keys is wiped.
pub(crate) fn mint(
    mut keys: u64,
    size: u64,
    format: Format,
    output: &mut Output,
) -> Result<(), Failure> {
    let part = usize::try_from(size).map_or(BATCH, |size| size.min(BATCH));
    let parts = BATCH / part;
    let mut batch = Zeroizing::new(vec![0; parts * part]);
    let mut text = Zeroizing::new(vec![0; parts * (format.len(part) + 1)]);
    while keys > 0 {
        let now = keys.min(parts as u64);
        keys -= now;
        // More than a batch only if this is one key.
        let mut left = now * size;
        while left > 0 {
            let len = usize::try_from(left).map_or(batch.len(), |left| left.min(batch.len()));
            let bytes = &mut batch[..len];
            left -= len as u64;
            crng::try_fill(bytes)
                .map_err(|error| Failure::Failed(format!("cannot mint: {error}")))?;
            if format == Format::Raw {
                output.write(bytes)?;
                continue;
            }
            let mut at = 0;
            for part in bytes.chunks(part) {
                at += format.encode(part, &mut text[at..]);
                if left == 0 {
                    text[at] = b'\n';
                    at += 1;
                }
            }
            output.write(&text[..at])?;
        }
    }
    Ok(())
}

impl Format {
    /// How many bytes `bytes` bytes are written as.
    fn len(self, bytes: usize) -> usize {
        match self {
            Self::Raw => bytes,
            Self::Hex => 2 * bytes,
            Self::Base64 => bytes.div_ceil(3) * 4,
        }
    }

    /// Writes `bytes` to the front of `text`, and says how long that is. No table is indexed by a
    /// secret.
    fn encode(self, bytes: &[u8], text: &mut [u8]) -> usize {
        let text = &mut text[..self.len(bytes.len())];
        let fits = "the text is as long as its encoding";
        match self {
            Self::Raw => text.copy_from_slice(bytes),
            Self::Hex => drop(base16ct::lower::encode(bytes, text).expect(fits)),
            Self::Base64 => drop(Base64::encode(bytes, text).expect(fits)),
        }
        text.len()
    }
}

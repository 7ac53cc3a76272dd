//! RFC 8439, section 2.8, in one place: what is authenticated, in which order, and how long it may
//! be.
//!
//! ```text
//! | aad | zeros to 16 | ciphertext | zeros to 16 | le64(aad length) | le64(ciphertext length) |
//! ```

use super::Error;

/// The bytes of the longest message: 2^32 blocks, less the one that makes the Poly1305 key.
pub(super) const MAX_LEN: u64 = (1 << 38) - 64;

/// Checks the length of a message.
#[inline]
pub(super) fn check(len: usize) -> Result<(), Error> {
    // An AAD of 2^64 bytes fits no memory, so its length needs no check.
    if len as u64 > MAX_LEN { Err(Error(())) } else { Ok(()) }
}

/// The length of the parts together.
pub(super) fn total(parts: &[&[u8]]) -> Result<usize, Error> {
    sum(parts.iter().map(|part| part.len()))
}

fn sum(mut lengths: impl Iterator<Item = usize>) -> Result<usize, Error> {
    lengths.try_fold(0usize, usize::checked_add).ok_or(Error(()))
}

/// The last block that is authenticated.
#[inline]
pub(super) fn lengths(aad: usize, message: usize) -> [u8; 16] {
    (u128::from(message as u64) << 64 | u128::from(aad as u64)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_little_endian_and_the_aad_comes_first() {
        let block = lengths(0x0102, 0x0304);
        assert_eq!(block, [2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_longest_message_is_2_to_the_38_less_64() {
        assert_eq!(check((1 << 38) - 64), Ok(()));
        assert_eq!(check((1 << 38) - 63), Err(Error(())));
        assert_eq!(check(usize::MAX), Err(Error(())));
    }

    #[test]
    fn parts_that_overflow_a_length_are_refused() {
        assert_eq!(total(&[]), Ok(0));
        assert_eq!(total(&[b"ab", b"", b"c"]), Ok(3));
        assert_eq!(sum([usize::MAX, 0].into_iter()), Ok(usize::MAX));
        assert_eq!(sum([usize::MAX, 1].into_iter()), Err(Error(())));
    }
}

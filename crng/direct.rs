//! Direct mode: nothing is kept between two calls, so a fork or a clone has nothing to copy.

use zeroize::Zeroize;

use super::Error;
#[cfg(all(feature = "std", feature = "getrandom"))]
use super::{EntropySource, SystemEntropy, seed};
use crate::chacha::data::Keystream;
use crate::chacha::{Core, State};
use crate::fork;

/// Up to this many bytes the operating system's are handed out as they are: one call of it is the
/// greater part of the cost, and one block of ChaCha20 would only add to it.
#[cfg(all(feature = "std", feature = "getrandom"))]
const AS_THEY_ARE: usize = 64;

/// How often a call starts again because the process was forked in the middle of it.
const TRIES: usize = 3;

/// The most bytes under one key.
pub(super) const KEY_BYTES: usize = 1 << 16;

/// Where the tests strike.
#[cfg(not(all(test, feature = "getrandom", target_os = "linux", target_has_atomic = "64")))]
#[inline(always)]
pub(super) fn step() {}

#[cfg(all(test, feature = "getrandom", target_os = "linux", target_has_atomic = "64"))]
pub(super) use super::thread::faults::step;

/// Fills `dst`, or leaves it all zero and says why.
#[cfg(all(feature = "std", feature = "getrandom"))]
#[cold]
pub(super) fn fill(dst: &mut [u8]) -> Result<(), Error> {
    fill_by(dst, |dst| {
        // Where a fork can't be noticed, the rest of the bytes must not be known when it comes.
        if dst.len() <= AS_THEY_ARE || fork::stamp() == fork::Stamp::Unknown {
            return SystemEntropy.fill(dst);
        }
        expand(&mut seed::draw(&mut SystemEntropy)?, dst, || true);
        Ok(())
    })
}

/// Fills `dst` by `draw`, which keeps nothing, or leaves it all zero and says why.
pub(super) fn fill_by(
    dst: &mut [u8],
    mut draw: impl FnMut(&mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut filled = Err(Error::SOURCE);
    for _ in 0..TRIES {
        let stamp = fork::stamp();
        step();
        filled = draw(dst);
        step();
        // A fork since the bytes came, in a signal handler, leaves two processes here with the same
        // ones; the child's stamp is another, and it starts again.
        if filled.is_err() || fork::stamp() == stamp {
            break;
        }
        filled = Err(Error::SOURCE);
    }
    if filled.is_err() {
        dst.zeroize();
    }
    filled
}

/// Fills `dst` from `key`, which is wiped; every 64 KiB the key is replaced by 32 bytes of block 0,
/// which nobody sees, and `goes_on` asked whether the rest is still wanted.
pub(super) fn expand(key: &mut [u8; 32], mut dst: &mut [u8], mut goes_on: impl FnMut() -> bool) {
    let core = Core::new();
    let mut next = [0; 64];
    loop {
        let state = State::with_nonce_96(key, &[0; 12], 0, 10);
        if dst.len() <= KEY_BYTES {
            // No key is needed after it, and whole passes are left whole.
            core.run(&state, 1, None, Keystream(dst));
            goes_on();
            break;
        }
        let (head, rest) = dst.split_at_mut(KEY_BYTES);
        core.run(&state, 0, Some(&mut next), Keystream(head));
        key.copy_from_slice(&next[..32]);
        if !goes_on() {
            break;
        }
        dst = rest;
    }
    next.as_mut_slice().zeroize();
    key.as_mut_slice().zeroize();
    wipe_stack();
}

/// Overwrites the stack below, where kernels have left vectors of keystream that they had no register
/// for. How far down those reach is compared by `what_is_wiped_of_the_stack_is_more_than_any_kernel_uses`,
/// on each row: it depends on how the crate is compiled (AVX-512 on Zen 5: 2167 bytes at `opt-level = 3`, more
/// at lower ones). In pieces, since `memset` is slow to start from 2 KiB on (glibc; 285 cycles for 4608 bytes at
/// once on Zen 5, 130 in three pieces).
#[inline(never)]
pub(super) fn wipe_stack() {
    let (mut a, mut b, mut c) = ([0_u8; 1792], [0_u8; 1792], [0_u8; 1792]);
    let (mut d, mut e) = ([0_u8; 1792], [0_u8; 1792]);
    core::hint::black_box((&mut a, &mut b, &mut c, &mut d, &mut e));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stretch_of_64_kib_has_a_key_of_its_own() {
        let mut key = [7; 32];
        let mut dst = std::vec![0; 2 * KEY_BYTES];
        expand(&mut key, &mut dst, || true);
        assert_eq!(key, [0; 32]);
        let first = crate::chacha::block(&[7; 32], 0, &[0; 12]);
        let second_key = first.first_chunk().unwrap();
        assert_eq!(dst[..64], crate::chacha::block(&[7; 32], 1, &[0; 12]));
        assert_eq!(dst[KEY_BYTES..][..64], crate::chacha::block(second_key, 1, &[0; 12]));
    }

    #[test]
    fn every_length_is_filled_to_its_last_byte() {
        for len in (1..=300).chain([4095, 4096, 4097, KEY_BYTES + 1, 3 * KEY_BYTES + 7]) {
            // A last byte of zero has a chance of 1 in 256; that all 32 tries have it, of 2^-256.
            let mut dst = std::vec![0; len];
            let reached = (0..32).any(|_| {
                fill(&mut dst).expect("there is entropy");
                dst.last() != Some(&0)
            });
            assert!(reached, "length {len}");
        }
    }
}

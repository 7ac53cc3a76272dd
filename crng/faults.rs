//! Losses at every step of the thread's generator.

use super::{Error, SystemEntropy, seed};

pub(super) fn step() {}

pub(super) fn entropy() -> Result<[u8; 32], Error> {
    seed::draw(&mut SystemEntropy)
}

//! Which numbers have been seen (RFC 6479).
//!
//! ```text
//! numbers   ... |<-------- SIZE -------->| top | ...
//!           old |  seen or not, bit by bit     | fresh
//! ```
//!
//! The bits lie in a ring of words, one word longer than the window, so that the window moves by
//! clearing words and never by shifting bits.

/// The words of the ring.
const WORDS: usize = 32;

/// The numbers up to the highest that are told apart.
pub(super) const SIZE: u64 = 64 * (WORDS as u64 - 1);

/// The numbers that have been seen.
#[derive(Debug)]
pub(super) struct Window {
    ring: [u64; WORDS],
    top: u64,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { ring: [0; WORDS], top: 0 }
    }

    /// Whether a number may still come: it has not been seen, and is not too old to know.
    pub(super) fn is_fresh(&self, number: u64) -> bool {
        if number > self.top {
            return true;
        }
        self.top - number < SIZE && self.ring[word(number)] >> (number % 64) & 1 == 0
    }

    /// Takes note of a fresh number.
    pub(super) fn mark(&mut self, number: u64) {
        if number > self.top {
            for passed in (self.top / 64 + 1..=number / 64).take(WORDS) {
                self.ring[passed as usize % WORDS] = 0;
            }
            self.top = number;
        }
        self.ring[word(number)] |= 1 << (number % 64);
    }
}

fn word(number: u64) -> usize {
    (number / 64 % WORDS as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Against a set of all numbers seen: jumps forward by less and by more than the window, and
    /// numbers around both of its ends.
    #[test]
    fn a_number_is_fresh_once_and_only_inside_the_window() {
        let (mut window, mut seen, mut top) = (Window::new(), HashSet::new(), 0_u64);
        let (mut refused, mut state) = (0, 1_u64);
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let random = state >> 40;
            let number = match random % 16 {
                0 => top + random % (3 * SIZE),
                1..=3 => top + random % 70,
                4..=6 => (top + 70).saturating_sub(SIZE + random % 140),
                _ => top.saturating_sub(random % (SIZE + 10)),
            };
            let fresh = top < SIZE + number && !seen.contains(&number);
            assert_eq!(window.is_fresh(number), fresh, "number {number}, top {top}");
            if fresh {
                window.mark(number);
                seen.insert(number);
                top = top.max(number);
            } else {
                refused += 1;
            }
        }
        assert!(refused > 10_000, "{refused} refused");
    }

    #[test]
    fn the_last_numbers_fit() {
        let mut window = Window::new();
        window.mark(u64::MAX);
        assert!(!window.is_fresh(u64::MAX));
        assert!(window.is_fresh(u64::MAX - SIZE + 1));
        assert!(!window.is_fresh(u64::MAX - SIZE));
    }
}

//! The CPU's own random numbers: one more input to the seeds, never credited, since nobody can look
//! into where they come from.

use core::arch::x86_64::{_rdrand64_step, _rdseed64_step};

cpufeatures::new!(seed, "rdseed");
cpufeatures::new!(random, "rdrand");

/// How often a number is asked for before the CPU counts as having none.
const TRIES: usize = 10;

/// Four numbers, as far as the CPU has any. Each takes up to 4 microseconds.
pub(super) fn numbers() -> [u8; 32] {
    let mut numbers = [0; 4];
    let mut last = 0;
    for number in &mut numbers {
        let drawn = (0..TRIES).find_map(|_| draw().filter(|drawn| is_plausible(*drawn, last)));
        *number = drawn.unwrap_or(0);
        last = *number;
    }
    let mut bytes = [0; 32];
    bytes.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(b, n)| *b = n.to_le_bytes());
    bytes
}

/// Broken CPUs gave one number for ever, all bits set (AMD family 15h after a suspension, and Zen 2
/// with early microcode) or none.
fn is_plausible(number: u64, last: u64) -> bool {
    number != 0 && number != u64::MAX && number != last
}

fn draw() -> Option<u64> {
    if seed::get() {
        // SAFETY: the CPU has the instruction.
        unsafe { rdseed() }
    } else if random::get() {
        // SAFETY: the CPU has the instruction.
        unsafe { rdrand() }
    } else {
        None
    }
}

#[target_feature(enable = "rdseed")]
fn rdseed() -> Option<u64> {
    let mut number = 0;
    (_rdseed64_step(&mut number) == 1).then_some(number)
}

#[target_feature(enable = "rdrand")]
fn rdrand() -> Option<u64> {
    let mut number = 0;
    (_rdrand64_step(&mut number) == 1).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_broken_cpus_are_refused() {
        for broken in [0, u64::MAX, 7] {
            assert!(!is_plausible(broken, 7));
        }
        assert!(is_plausible(8, 7));
    }

    #[test]
    fn a_cpu_with_the_instruction_gives_numbers() {
        let (first, second) = (numbers(), numbers());
        assert_eq!(first != second, seed::get() || random::get());
    }
}

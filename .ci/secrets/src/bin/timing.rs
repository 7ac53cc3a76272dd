//! Does the comparison of a tag take a time that depends on where it fails? Welch's t-test over
//! measured times (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", 2017), beside
//! a comparison that leaks.

use std::hint::black_box;

use dudect_bencher::{BenchRng, Class, CtRunner, ctbench_main};
use keyspring::aead::ChaCha20Poly1305;

const MEASUREMENTS: usize = 200_000;

/// Times `refuses` on tags that differ from the right one in the first byte or in the last one.
fn compare(runner: &mut CtRunner, refuses: impl Fn(&[u8; 16]) -> bool, right: [u8; 16]) {
    for i in 0..MEASUREMENTS {
        // A hash of the number tosses the coin.
        let left = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0;
        let mut tag = right;
        tag[if left { 0 } else { 15 }] ^= 1;
        let class = if left { Class::Left } else { Class::Right };
        runner.run_one(class, || assert!(refuses(black_box(&tag))));
    }
}

fn open_in_place(runner: &mut CtRunner, _: &mut BenchRng) {
    let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
    let right = cipher.seal_in_place(&[1; 12], b"", &mut []).expect("it is short");
    compare(runner, |tag| cipher.open_in_place(&[1; 12], b"", &mut [], tag).is_err(), right);
}

fn leaky_twin(runner: &mut CtRunner, _: &mut BenchRng) {
    let right = [0x5a; 16];
    let refuses = |tag: &[u8; 16]| {
        black_box(&right).iter().zip(tag).any(|(a, b)| black_box(*a) != black_box(*b))
    };
    compare(runner, refuses, right);
}

ctbench_main!(open_in_place, leaky_twin);

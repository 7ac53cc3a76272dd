//! A simulation that runs the same way each time: random walks from a seed, each with a generator of
//! its own, so that it does not matter in how many threads they run.
//!
//! `cargo run --example simulation [SEED]`

use std::thread;

use keyspring::crng::SeededCrng;

const WALKS: usize = 500;
const STEPS: usize = 100;

/// How far from the start a walk on a plane ends, squared.
fn walk(rng: &mut SeededCrng) -> i64 {
    let (mut x, mut y) = (0_i64, 0_i64);
    for _ in 0..STEPS {
        match rng.below(4) {
            0 => x += 1,
            1 => x -= 1,
            2 => y += 1,
            _ => y -= 1,
        }
    }
    x * x + y * y
}

/// The mean over all walks, shared out among threads.
fn mean(seed: u64, threads: usize) -> f64 {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut root = SeededCrng::from_seed(bytes);
    let mut walkers: Vec<SeededCrng> = (0..WALKS).map(|_| root.split(b"walk")).collect();
    let sum: i64 = thread::scope(|scope| {
        let shares = walkers.chunks_mut(WALKS.div_ceil(threads));
        let running: Vec<_> =
            shares.map(|share| scope.spawn(|| share.iter_mut().map(walk).sum::<i64>())).collect();
        running.into_iter().map(|thread| thread.join().expect("no walk panics")).sum()
    });
    sum as f64 / WALKS as f64
}

fn main() {
    let argument = std::env::args().nth(1);
    let seed = argument.map_or(42, |seed| seed.parse().expect("SEED is a number"));
    let alone = mean(seed, 1);
    assert_eq!(alone, mean(seed, 4));
    // Theory says: as many as there are steps.
    println!("seed {seed}: mean square distance {alone} after {STEPS} steps");
    assert!((alone - STEPS as f64).abs() < STEPS as f64 / 5.0);
}

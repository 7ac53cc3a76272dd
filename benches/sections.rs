//! What it costs to come up for air: one pass without an end, the sections that the library has, and
//! a check every 64, 32, 16, 4 blocks and after every block, beside the mail "arm64 GHASH: yield
//! check once every N blocks", which saw 22 % lost by a check after each.
//!
//! A check is what a kernel's hooks are called for: whether vectors may be used, the beginning and
//! the end of a section, and in between a look at a flag. Hooks that save registers cost more.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::time::Instant;

use keyspring::aead::ChaCha20Poly1305;
use keyspring::chacha::ChaCha20;
use keyspring::section::{self, Hooks};
use keyspring::{cpu, poly1305};

static NEED_RESCHED: AtomicBool = AtomicBool::new(false);

static HOOKS: Hooks = Hooks {
    usable: || true,
    begin: || {},
    end: || {},
    relax: || assert!(!NEED_RESCHED.load(Ordering::Relaxed), "nobody asks for it"),
};

/// By name, and what is added to a backend's.
const WAYS: [(&str, &str); 7] = [
    ("unbounded", "+section-1000000000"),
    ("sections", ""),
    ("64 blocks", "+section-64"),
    ("32", "+section-32"),
    ("16", "+section-16"),
    ("4", "+section-4"),
    ("each", "+section-1"),
];

const LENGTHS: [usize; 2] = [16 << 10, 1 << 20];

/// Of the round, each way takes one slice. Neighbours on the machine spoil slices; the best counts.
const ROUNDS: usize = 150;
const SLICE: Duration = Duration::from_micros(300);

type Run = fn(&mut [u8]);

const RUNS: [(&str, Run); 4] = [
    ("chacha20", |bytes| ChaCha20::from_key(&[7; 32], &[9; 12]).apply_keystream(bytes)),
    ("poly1305", |bytes| _ = black_box(poly1305::mac(&[7; 32], bytes))),
    ("seal", |bytes| {
        let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
        black_box(cipher.seal_in_place(&[9; 12], &[3; 13], bytes)).expect("it is short enough");
    }),
    // Refused, or the second opening would find no ciphertext: the tag of a forgery costs the same.
    ("verify", |bytes| {
        let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
        cipher.open_in_place(&[9; 12], &[3; 13], bytes, &[0; 16]).expect_err("it is a forgery");
    }),
];

fn main() {
    let quick = std::env::args().any(|argument| ["--quick", "--test"].contains(&&*argument));
    let rounds = if quick { 5 } else { ROUNDS };
    section::install(&HOOKS).expect("there are none yet");
    println!("Time in microseconds without a check, and in percent more with one after so much.\n");
    print!("{:<11} {:<9} {:>8}", "backend", "job", "bytes");
    WAYS.iter().for_each(|(name, _)| print!(" {name:>10}"));
    println!();
    for backend in cpu::backends() {
        for (job, run) in RUNS {
            for len in LENGTHS {
                let best = measure(backend, run, len, rounds);
                print!("{backend:<11} {job:<9} {len:>8} {:>10.2}", 1e6 * best[0]);
                best[1..]
                    .iter()
                    .for_each(|time| print!(" {:>+10.1}", 100.0 * (time / best[0] - 1.0)));
                println!();
            }
        }
    }
}

/// The seconds that a run takes, each way.
fn measure(backend: &str, run: Run, len: usize, rounds: usize) -> [f64; WAYS.len()] {
    let mut best = [f64::INFINITY; WAYS.len()];
    let mut bytes = vec![0; len];
    for round in 0..rounds {
        for i in 0..WAYS.len() {
            // The next round starts with the next one.
            let way = (round + i) % WAYS.len();
            let name = format!("{backend}{}", WAYS[way].1);
            let _guard = cpu::force(&name).expect("a backend of this machine");
            run(&mut bytes);
            let (start, mut runs) = (Instant::now(), 0_u32);
            while start.elapsed() < SLICE {
                run(black_box(&mut bytes));
                runs += 1;
            }
            best[way] = best[way].min(start.elapsed().as_secs_f64() / f64::from(runs));
        }
    }
    best
}

//! Keys from every generator; then the comparison of the mail "replace non-blocking pool with a
//! Chacha20-based CRNG" (Xu, 2016): requests of 256 bytes, and of 16, scalar core against SIMD; then what a session key costs at best and
//! at worst.

mod series;

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group};
use keyspring::chacha::ChaCha20;
use keyspring::cpu;
use keyspring::crng::{self, Crng, EntropySource, SeededCrng, SystemEntropy};
use series::{backends, by_backend_and_length};

fn keys(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("key");
    group.throughput(Throughput::Bytes(256));
    group.bench_function("session_key, 256 bytes", |bencher| bencher.iter(crng::session_key));
    let mut owned = Crng::new().expect("there is entropy");
    group.bench_function("Crng, 256 bytes", |bencher| bencher.iter(|| owned.try_key::<256>()));
    group.throughput(Throughput::Bytes(32));
    group.bench_function("key, 32 bytes", |bencher| bencher.iter(crng::key::<32>));
    group.bench_function("Crng, 32 bytes", |bencher| bencher.iter(|| owned.try_key::<32>()));
    group.finish();
}

/// Fast key erasure on each backend.
fn by_backend(criterion: &mut Criterion) {
    by_backend_and_length(criterion, "SeededCrng", backends(), &[16, 32, 256], |len| {
        let mut rng = SeededCrng::from_seed([7; 32]);
        let mut key = vec![0; len];
        move || rng.fill(black_box(&mut key))
    });
}

/// Set in a process that is started to tell how long the first of something takes: the key, and what
/// the machine takes for that on which it rests.
const FIRST: &str = "SESSION_KEYS_FIRST";

type First = fn() -> u64;

const FIRSTS: [(&str, First); 3] = [
    ("session key", || ns_of(crng::session_key)),
    ("entropy of 32 bytes", || ns_of(|| SystemEntropy.fill(&mut [0; 32]))),
    ("look at the CPU", || ns_of(|| cpu::backends().count())),
];

fn main() {
    if let Ok(what) = std::env::var(FIRST) {
        let (_, first) = FIRSTS.into_iter().find(|(name, _)| *name == what).expect("one of them");
        return println!("{}", first());
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
    println!("\nOperations in 10 s, ChaCha20 under one key (the mail's: a 4th-generation Core)");
    println!("bytes   scalar core  dispatched core  ratio     mail: generic        simd  ratio");
    for (len, mail) in [(256, Some((12_702_056_u32, 33_028_112_u32))), (32, None), (16, None)] {
        let [scalar, simd] = operations_in_10_s(len);
        print!("{len:5} {scalar:13.0} {simd:16.0} {:6.2}", simd / scalar);
        if let Some((generic, simd)) = mail {
            print!("{generic:18} {simd:11} {:6.2}", f64::from(simd) / f64::from(generic));
        }
        println!();
    }
    session_keys();
}

/// How long one call takes.
fn ns_of<T>(call: impl FnOnce() -> T) -> u64 {
    let start = Instant::now();
    black_box(call());
    start.elapsed().as_nanos() as u64
}

/// The fastest of many turns, in nanoseconds a call.
fn fastest(calls: u64, mut call: impl FnMut()) -> f64 {
    let turn = |_| ns_of(|| (0..calls).for_each(|_| call()));
    (0..300).map(turn).min().expect("300 turns") as f64 / calls as f64
}

/// Session keys against our keystream, on two threads, and where they take longest.
fn session_keys() {
    let key = fastest(5000, || drop(black_box(crng::session_key())));
    let mut bytes = vec![0; 1 << 16];
    let mut keystream = |len: usize| {
        let bytes = &mut bytes[..len];
        fastest((1 << 20) / len as u64, || {
            ChaCha20::from_key(black_box(&[7; 32]), &[1; 12]).write_keystream(black_box(bytes));
        })
    };
    let (alone, bulk) = (keystream(256), keystream(1 << 16) / 256.0);
    println!("\nSession key of 256 bytes, drawn and wiped: {key:.1} ns");
    println!("{:.2} of 256 bytes of keystream in one call, {alone:.1} ns", key / alone);
    println!("{:.2} of 256 bytes of keystream of 64 KiB, {bulk:.1} ns", key / bulk);

    // Each turn on both threads at once; the other machine's guests are not ours to stop, so the best.
    let mint = || ns_of(|| (0..200_000).for_each(|_| drop(black_box(crng::session_key())))) as f64;
    let least = |turns: &mut dyn Iterator<Item = f64>| turns.fold(f64::MAX, f64::min);
    let one = least(&mut (0..30).map(|_| mint()));
    let two = least(&mut (0..30).map(|_| {
        let started = std::sync::Barrier::new(2);
        let timed = || {
            started.wait();
            mint()
        };
        std::thread::scope(|scope| {
            let both = [scope.spawn(timed), scope.spawn(timed)];
            both.map(|thread| thread.join().expect("it ends")).into_iter().fold(0.0, f64::max)
        })
    }));
    println!("{:.2} times as many on two threads", 2.0 * one / two);

    let mut calls: Vec<_> = (0..2_000_000).map(|_| ns_of(crng::session_key)).collect();
    calls.sort_unstable();
    let [half, most] = [calls.len() / 2, calls.len() / 1000 * 999].map(|i| calls[i]);
    println!("one call, with the clock's: {half} ns at the median, {most} ns at 99.9 %");
    let mut threads: Vec<_> = (0..300)
        .map(|_| std::thread::spawn(|| ns_of(crng::session_key)).join().expect("it ends"))
        .collect();
    threads.sort_unstable();
    println!("a thread's first: {} ns at the least, {} at the median", threads[0], threads[150]);
    let this = std::env::current_exe().expect("this program");
    for (what, _) in FIRSTS {
        let first = || std::process::Command::new(&this).env(FIRST, what).output();
        let told = |_| String::from_utf8(first().expect("a process").stdout).expect("a number");
        let mut firsts: Vec<u64> =
            (0..300).map(|i| told(i).trim().parse().expect("a number")).collect();
        firsts.sort_unstable();
        let (least, half) = (firsts[0], firsts[150]);
        println!("a process's first {what}: {least} ns at the least, {half} at the median");
    }
}

/// Encryptions in 10 seconds, reckoned from the fastest of many turns that the two cores take.
fn operations_in_10_s(len: usize) -> [f64; 2] {
    const TURNS: u32 = 60;
    const CALLS: u32 = 5000;
    let mut fastest = [Duration::MAX; 2];
    let mut message = vec![0; len];
    for _ in 0..TURNS {
        for (scalar, fastest) in [true, false].into_iter().zip(&mut fastest) {
            // To force the best row would put its tuning off, which has single blocks go scalar.
            let _guard = scalar.then(|| cpu::force("scalar").expect("it runs everywhere"));
            let start = Instant::now();
            for _ in 0..CALLS {
                ChaCha20::from_key(black_box(&[7; 32]), &[1; 12])
                    .apply_keystream(black_box(&mut message));
            }
            *fastest = start.elapsed().min(*fastest);
        }
    }
    fastest.map(|time| 10.0 * f64::from(CALLS) / time.as_secs_f64())
}

criterion_group! {
    name = benches;
    config = series::criterion();
    targets = keys, by_backend
}

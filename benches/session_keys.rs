//! Keys from every generator; then the comparison of the mail "replace non-blocking pool with a
//! Chacha20-based CRNG" (Xu, 2016): requests of 256 bytes, and of 16, scalar core against SIMD.

mod series;

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group};
use keyspring::chacha::ChaCha20;
use keyspring::cpu;
use keyspring::crng::{self, Crng, SeededCrng};
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

fn main() {
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
}

/// Encryptions in 10 seconds, reckoned from the fastest of many turns that the two cores take.
fn operations_in_10_s(len: usize) -> [f64; 2] {
    const TURNS: u32 = 60;
    const CALLS: u32 = 5000;
    let best = cpu::backends().next().expect("scalar at least");
    let mut fastest = [Duration::MAX; 2];
    let mut message = vec![0; len];
    for _ in 0..TURNS {
        for (name, fastest) in ["scalar", best].iter().zip(&mut fastest) {
            let _guard = cpu::force(name).expect("a backend of this machine");
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

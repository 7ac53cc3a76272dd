//! Random bytes and numbers from every generator.

mod series;

use core::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use keyspring::crng::{self, Crng, SeededCrng};

const LENGTHS: [usize; 9] = [4, 8, 16, 32, 64, 256, 1024, 4096, 1 << 20];

fn bytes(criterion: &mut Criterion) {
    let mut owned = Crng::new().expect("there is entropy");
    let mut seeded = SeededCrng::from_seed([7; 32]);
    let mut group = criterion.benchmark_group("fill");
    for len in LENGTHS {
        let mut dst = vec![0; len];
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("crng", len), |bencher| {
            bencher.iter(|| crng::fill(black_box(&mut dst)));
        });
        group.bench_function(BenchmarkId::new("Crng", len), |bencher| {
            bencher.iter(|| owned.try_fill(black_box(&mut dst)));
        });
        group.bench_function(BenchmarkId::new("SeededCrng", len), |bencher| {
            bencher.iter(|| seeded.fill(black_box(&mut dst)));
        });
    }
    group.finish();
}

fn numbers(criterion: &mut Criterion) {
    let mut seeded = SeededCrng::from_seed([7; 32]);
    let mut group = criterion.benchmark_group("numbers");
    group.bench_function("crng u32", |bencher| bencher.iter(crng::u32));
    group.bench_function("crng u64", |bencher| bencher.iter(crng::u64));
    group.bench_function("crng below 10", |bencher| bencher.iter(|| crng::below(10)));
    group.bench_function("SeededCrng u32", |bencher| bencher.iter(|| seeded.u32()));
    group.bench_function("SeededCrng u64", |bencher| bencher.iter(|| seeded.u64()));
    group.bench_function("SeededCrng 1 to 6", |bencher| bencher.iter(|| seeded.range(1..=6)));
    group.finish();
}

criterion_group! {
    name = benches;
    config = series::criterion();
    targets = bytes, numbers
}
criterion::criterion_main!(benches);

//! What the benches share: the lengths, and one series per backend.

#![allow(
    dead_code,
    reason = "each bench compiles this file for itself, and not each needs all of it"
)]

use criterion::{Criterion, Throughput};
use keyspring::cpu;

/// Bytes of a message: block and section edges, the lengths of the two mails that this crate
/// answers, and packets (1350 QUIC, 1500 Ethernet).
pub(crate) const LENGTHS: [usize; 24] = [
    0,
    1,
    16,
    64,
    127,
    128,
    192,
    200,
    256,
    288,
    384,
    511,
    512,
    768,
    1024,
    1350,
    1500,
    2048,
    3173,
    4096,
    8192,
    16384,
    65536,
    1 << 20,
];

/// Benches `routine`, which is made anew under each backend, at each length.
pub(crate) fn by_backend_and_length<R: FnMut()>(
    criterion: &mut Criterion,
    group: &str,
    names: impl IntoIterator<Item = String>,
    lengths: &[usize],
    mut routine: impl FnMut(usize) -> R,
) {
    let mut group = criterion.benchmark_group(group);
    for name in names {
        let _guard = cpu::force(&name).expect("a backend of this machine");
        for len in lengths {
            group.throughput(Throughput::Bytes(*len as u64));
            let id = criterion::BenchmarkId::new(&name, len);
            let mut routine = routine(*len);
            group.bench_function(id, |bencher| bencher.iter(&mut routine));
        }
    }
    group.finish();
}

/// Every backend of this machine.
pub(crate) fn backends() -> impl Iterator<Item = String> {
    cpu::backends().map(String::from)
}

/// Short runs: each bench says what it has to say in a second or so, and there are hundreds.
pub(crate) fn criterion() -> Criterion {
    use core::time::Duration;

    Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .sample_size(30)
        .without_plots()
        .configure_from_args()
}

//! Poly1305 one-shot, by backend and length; then the table of the mail "Fix performance regression
//! on short messages" (Biggers, 2025), the threshold off and on.

mod series;

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use criterion::{Criterion, criterion_group};
use keyspring::cpu;
use keyspring::poly1305::mac;
use series::{LENGTHS, backends, by_backend_and_length};

fn lengths(criterion: &mut Criterion) {
    by_backend_and_length(criterion, "poly1305", backends(), &LENGTHS, |len| {
        let message = vec![1; len];
        move || {
            black_box(mac(black_box(&[7; 32]), black_box(&message)));
        }
    });
}

/// The mail's lengths, and its MB/s on a Ryzen AI 9 365 (Zen 5) without and with Linux's threshold
/// of 288 bytes.
const MAIL: [(usize, u32, u32); 13] = [
    (1, 30, 36),
    (16, 516, 598),
    (64, 1700, 1882),
    (127, 2265, 2651),
    (128, 2457, 2827),
    (200, 2702, 3238),
    (256, 3841, 3768),
    (511, 4580, 4585),
    (512, 5430, 5398),
    (1024, 7268, 7305),
    (3173, 8999, 8948),
    (4096, 9942, 9921),
    (16384, 10557, 10545),
];

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    threshold_table();
}

/// Megabytes a second without and with the threshold of the best backend: the two take turns, and
/// the fastest of many turns counts.
fn threshold_table() {
    const TURNS: u32 = 60;
    let best = cpu::backends().next().expect("scalar at least");
    let report = cpu::report();
    let threshold = report.poly1305_threshold();
    println!("\nShort messages: {} with its threshold off and on", report.poly1305());
    match threshold {
        Some(bytes) => println!("our threshold: {bytes} bytes; Linux's: 288 bytes"),
        None => println!("no vector row: off and on are the same"),
    }
    println!("            here, MB/s                  mail (Zen 5), MB/s");
    println!("length    off     on  on/off      before  after  after/before");
    for (len, before, after) in MAIL {
        let message = vec![1; len];
        let mut fastest = [Duration::MAX; 2];
        let calls = (1 << 21) / (len as u32 + 256) + 1;
        for _ in 0..TURNS {
            for (name, fastest) in
                [format!("{best}+no-threshold"), best.into()].iter().zip(&mut fastest)
            {
                let _guard = cpu::force(name).expect("a backend of this machine");
                let start = Instant::now();
                for _ in 0..calls {
                    black_box(mac(black_box(&[7; 32]), black_box(&message)));
                }
                *fastest = start.elapsed().min(*fastest);
            }
        }
        let rate = |time: Duration| f64::from(calls) * len as f64 / time.as_secs_f64() / 1e6;
        let [off, on] = fastest.map(rate);
        println!(
            "{len:6} {off:6.0} {on:6.0} {:7.2}      {before:6} {after:6} {:13.2}",
            on / off,
            f64::from(after) / f64::from(before),
        );
    }
}

criterion_group! {
    name = benches;
    config = series::criterion();
    targets = lengths
}

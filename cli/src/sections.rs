//! How long each backend keeps the vector registers: the table of the mail "use common macro for
//! FPU limit" (Elliott, 2022), for the sections of this library.

use core::hint::black_box;
use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use keyspring::aead::ChaCha20Poly1305;
use keyspring::chacha::ChaCha20;
use keyspring::section::{self, MAX_CYCLES, Stats, stats, ticks};
use keyspring::{cpu, poly1305};

use crate::failure::Failure;
use crate::output::print;

/// Below, at and above the length of a section.
const LENGTHS: [usize; 14] =
    [1, 16, 64, 256, 511, 1024, 1350, 4096, 5000, 8192, 10_000, 16_384, 40_000, 140_000];

/// How often the lengths are swept. A sweep takes a millisecond at most, so that some are over
/// before anything interrupts them.
const SWEEPS: usize = 300;

/// What a driver's sections took, in ticks.
struct Row {
    bytes: usize,
    first: u64,
    /// Of the sweeps' maxima, the lowest and the highest.
    sweep: u64,
    worst: u64,
    count: u64,
    total: u64,
}

/// Measures all backends and prints the table; fails if a section takes longer than its bound.
pub(crate) fn sections() -> Result<(), Failure> {
    let clock = Clock::measure();
    let mut rows = BTreeMap::new();
    for backend in cpu::backends() {
        let force = || cpu::force(&format!("{backend}+no-threshold"));
        let _guard = force().map_err(|error| Failure::Failed(error.to_string()))?;
        section::reset_stats();
        work(140_000);
        for stats in stats().filter(|stats| stats.backend == backend) {
            rows.insert(driver(&stats), Row::of(&stats));
        }
        for _ in 0..SWEEPS {
            section::reset_stats();
            LENGTHS.into_iter().for_each(work);
            for stats in stats().filter(|stats| stats.backend == backend) {
                rows.entry(driver(&stats)).or_insert_with(|| Row::of(&stats)).add(&stats);
            }
        }
    }
    let bound = clock.ticks_of(MAX_CYCLES);
    let (text, held) = table(&rows, bound, &clock);
    print(text.as_bytes())?;
    if held {
        return Ok(());
    }
    Err(Failure::Failed("a section takes longer than its bound".into()))
}

/// Every primitive at one length.
fn work(len: usize) {
    let mut message = vec![0; len];
    ChaCha20::from_key(&[7; 32], &[9; 12]).apply_keystream(&mut message);
    black_box(poly1305::mac(&[7; 32], &message));
    let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
    let tag = cipher.seal_in_place(&[9; 12], b"aad", &mut message).expect("it is short");
    cipher.open_in_place(&[9; 12], b"aad", &mut message, &tag).expect("it is genuine");
}

fn driver(stats: &Stats) -> String {
    format!("{}_{}", stats.primitive, stats.backend)
}

impl Row {
    /// First use.
    fn of(stats: &Stats) -> Self {
        let Stats { bytes, first, .. } = *stats;
        Self { bytes, first, sweep: u64::MAX, worst: 0, count: 0, total: 0 }
    }

    /// A sweep.
    fn add(&mut self, stats: &Stats) {
        self.sweep = self.sweep.min(stats.maximum);
        self.worst = self.worst.max(stats.maximum);
        self.count += stats.count;
        self.total += stats.total;
    }
}

/// The table, and whether all sweeps held the bound.
fn table(rows: &BTreeMap<String, Row>, bound: u64, clock: &Clock) -> (String, bool) {
    let mut text = format!(
        "Ticks inside each section. {}\n\
         The bound of a section: {MAX_CYCLES} cycles, {bound} ticks here.\n\
         Sweep: each of {SWEEPS} sweeps over {} lengths up to 137 KiB has a longest section; the lowest\n\
         of them, since other programs and interrupts count as well where they come in between. Worst:\n\
         the highest.\n\n",
        clock.describe(),
        LENGTHS.len(),
    );
    let mut line = |driver: &str, columns: [&str; 6]| {
        text += &format!("{driver:20}");
        columns.iter().for_each(|column| text += &format!(" {column:>9}"));
        text += "\n";
    };
    line("Driver", ["bytes", "first use", "sweep", "average", "worst", "of bound"]);
    line("======", ["=====", "=========", "=====", "=======", "=====", "========"]);
    for (driver, row) in rows {
        let numbers =
            [row.bytes as u64, row.first, row.sweep, row.total / row.count.max(1), row.worst];
        let [bytes, first, sweep, average, worst] = numbers.map(|number| number.to_string());
        let share = format!("{} %", 100 * row.sweep / bound);
        line(driver, [&bytes, &first, &sweep, &average, &worst, &share]);
    }
    let held = rows.values().all(|row| row.sweep <= bound);
    text += if held { "All sections are within the bound.\n" } else { "The bound is EXCEEDED.\n" };
    (text, held)
}

/// The rate of the ticks and of the core, in Hz.
struct Clock {
    ticks: f64,
    /// Where a chain of instructions of known latency tells it.
    core: Option<f64>,
}

impl Clock {
    fn measure() -> Self {
        let (wall, start) = (Instant::now(), ticks());
        std::thread::sleep(Duration::from_millis(100));
        let rate = (ticks() - start) as f64 / wall.elapsed().as_secs_f64();
        // An interrupt can only make a sample too low.
        let core = (0..500).map(|_| rate / ticks_per_cycle()).fold(f64::NAN, f64::max);
        Self { ticks: rate, core: Some(core).filter(|core| core.is_finite()) }
    }

    /// The ticks in which so many cycles pass. Where the core's clock is not known, it is taken for
    /// 1 GHz, the slowest that the bound is meant for.
    fn ticks_of(&self, cycles: u64) -> u64 {
        (cycles as f64 * self.ticks / self.core.unwrap_or(1e9)) as u64
    }

    fn describe(&self) -> String {
        let ticks = self.ticks / 1e9;
        match self.core {
            Some(core) => {
                format!("They come at {ticks:.2} GHz; the core runs at {:.2} GHz.", core / 1e9)
            }
            None => format!("They come at {ticks:.2} GHz; the core's clock is not known."),
        }
    }
}

/// Ticks per cycle: multiplies that wait for each other, 3 cycles each on Intel's cores since Nehalem
/// and on AMD's since Zen. In assembly, since the compiler would shorten the chain.
#[cfg(target_arch = "x86_64")]
fn ticks_per_cycle() -> f64 {
    const LINKS: u32 = 4000;
    let start = ticks();
    // SAFETY: registers only; both are declared, and so are the flags.
    unsafe {
        core::arch::asm!(
            "2:", "imul {x:e}, {x:e}", "dec {n:e}", "jnz 2b",
            x = inout(reg) 3_u32 => _,
            n = inout(reg) LINKS => _,
            options(nomem, nostack),
        );
    }
    (ticks() - start) as f64 / f64::from(3 * LINKS)
}

/// Unknown.
#[cfg(not(target_arch = "x86_64"))]
fn ticks_per_cycle() -> f64 {
    f64::NAN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_over_the_bound_fails_the_table() {
        let clock = Clock { ticks: 2e9, core: Some(4e9) };
        let bound = clock.ticks_of(MAX_CYCLES);
        assert_eq!(bound, MAX_CYCLES / 2);
        let mut row =
            Row { bytes: 4096, first: 1, sweep: bound, worst: 1 << 40, count: 2, total: 8 };
        let held = |row| table(&BTreeMap::from([("driver".into(), row)]), bound, &clock).1;
        assert!(held(Row { ..row }));
        row.sweep += 1;
        assert!(!held(row));
    }
}

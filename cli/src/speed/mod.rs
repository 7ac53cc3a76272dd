//! How fast this machine is: a table, JSON, a chart.
//!
//! A slice is a run of calls as long as the plan says. One of each row makes a round, so that what
//! disturbs the machine for a while disturbs all alike; a row's time is that of its fastest slice.

mod chart;
mod jobs;

use core::fmt::{self, Write};
use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish};
use keyspring::cpu::{self, Report};
use serde::Serialize;

use self::jobs::{JOBS, Job};
use crate::args::Destination;
use crate::failure::Failure;
use crate::output::{Output, print};

/// How long to measure.
struct Plan {
    rounds: u64,
    slice: Duration,
}

const PLAN: Plan = Plan { rounds: 60, slice: Duration::from_millis(1) };
const QUICK: Plan = Plan { rounds: 10, slice: Duration::from_micros(200) };

pub(crate) fn speed(quick: bool, json: bool, chart: &Destination) -> Result<(), Failure> {
    let chart = chart.out.is_some().then(|| Output::open(chart)).transpose()?;
    let record = Record::measure(if quick { &QUICK } else { &PLAN });
    if let Some(mut chart) = chart {
        chart.write(chart::draw(&record).as_bytes())?;
        chart.finish()?;
    }
    if json {
        let text = serde_json::to_string_pretty(&record).expect("a record is plain data");
        return print(format!("{text}\n").as_bytes());
    }
    print(record.to_string().as_bytes())
}

#[derive(Debug, Serialize)]
struct Record {
    version: &'static str,
    optimised: bool,
    tuning: &'static str,
    /// The clock of the core while it ran this.
    core_gigahertz: Option<f64>,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    job: &'static str,
    bytes: usize,
    nanoseconds: f64,
    core_cycles: Option<f64>,
    gigabytes_per_second: f64,
    percent_of_bound: Option<f64>,
    backend: String,
}

impl Record {
    fn measure(plan: &Plan) -> Self {
        let report = cpu::report();
        let all = JOBS.iter().flat_map(|job| job.lengths.iter().map(move |bytes| (job, *bytes)));
        let mut timed: Vec<_> = all.map(|(job, bytes)| Timed::new(job, bytes, plan)).collect();
        let bar = ProgressBar::with_draw_target(Some(plan.rounds), ProgressDrawTarget::stderr())
            .with_finish(ProgressFinish::AndClear);
        let mut gigahertz: Option<f64> = None;
        for _ in 0..plan.rounds {
            // An interrupt can only make a sample too low.
            gigahertz = core_gigahertz().map(|sample| sample.max(gigahertz.unwrap_or(0.0)));
            timed.iter_mut().for_each(Timed::slice);
            bar.inc(1);
        }
        Self {
            version: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
            tuning: report.tuning(),
            core_gigahertz: gigahertz,
            rows: timed.iter().map(|timed| timed.row(&report, gigahertz)).collect(),
        }
    }
}

/// A job at one length, under measurement.
struct Timed {
    job: &'static Job,
    bytes: usize,
    call: Box<dyn FnMut()>,
    calls_in_a_slice: u32,
    /// The fastest slice yet, in nanoseconds for each message.
    nanoseconds: f64,
}

impl Timed {
    fn new(job: &'static Job, bytes: usize, plan: &Plan) -> Self {
        let call = (job.prepare)(bytes);
        let mut this = Self { job, bytes, call, calls_in_a_slice: 1, nanoseconds: f64::INFINITY };
        // By the fastest call yet: a slice that something interrupted would seem long enough.
        loop {
            this.slice();
            let messages = f64::from(this.calls_in_a_slice * job.messages);
            if messages * this.nanoseconds > plan.slice.as_nanos() as f64 / 2.0 {
                break;
            }
            this.calls_in_a_slice *= 2;
        }
        // Among few calls to the CRNG there may have been none that makes output ahead.
        this.nanoseconds = f64::INFINITY;
        this
    }

    fn slice(&mut self) {
        let start = Instant::now();
        (0..self.calls_in_a_slice).for_each(|_| (self.call)());
        let messages = f64::from(self.calls_in_a_slice * self.job.messages);
        self.nanoseconds = self.nanoseconds.min(start.elapsed().as_nanos() as f64 / messages);
    }

    fn row(&self, report: &Report, gigahertz: Option<f64>) -> Row {
        let bytes = self.bytes as f64;
        let core_cycles = gigahertz.map(|gigahertz| self.nanoseconds * gigahertz);
        let bound = (self.job.bound)(report).map(|cycles_per_kib| cycles_per_kib * bytes / 1024.0);
        Row {
            job: self.job.name,
            bytes: self.bytes,
            nanoseconds: self.nanoseconds,
            core_cycles,
            gigabytes_per_second: bytes / self.nanoseconds,
            percent_of_bound: bound.zip(core_cycles).map(|(bound, cycles)| 100.0 * bound / cycles),
            backend: (self.job.backend)(report, self.bytes),
        }
    }
}

/// The core's clock over 10 us, by a chain of dependent 32-bit multiplies: each takes 3 cycles on
/// Intel's cores since Nehalem and on AMD's since Zen. (A chain of additions will not do: recent
/// cores fold those with constants when they rename registers.)
fn core_gigahertz() -> Option<f64> {
    const MULTIPLIES: u32 = 10_000;
    const LATENCY: u32 = 3;
    // Without optimisation, it would be memory's latency.
    if cfg!(debug_assertions) || !cfg!(target_arch = "x86_64") {
        return None;
    }
    let start = Instant::now();
    let mut x = black_box(3_u32);
    for _ in 0..MULTIPLIES {
        x = x.wrapping_mul(x);
    }
    black_box(x);
    Some(f64::from(MULTIPLIES * LATENCY) / start.elapsed().as_nanos() as f64)
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_dash = |value: Option<f64>, unit: &str| {
            value.map_or("-".into(), |value| format!("{value:.0}{unit}"))
        };
        let build = if self.optimised { "" } else { ", built without optimisation" };
        write!(f, "keyspring {}, tuning {}{build}", self.version, self.tuning)?;
        if let Some(gigahertz) = self.core_gigahertz {
            write!(f, ", core at {gigahertz:.2} GHz")?;
        }
        writeln!(f, "\n")?;
        let head = ["", "bytes", "ns", "cycles", "GB/s", "of bound", "backend"];
        let mut line = |cells: [&str; 7]| {
            let [job, bytes, ns, cycles, rate, bound, backend] = cells;
            writeln!(f, "{job:<16}{bytes:>7}{ns:>11}{cycles:>9}{rate:>8}{bound:>10}  {backend}")
        };
        line(head)?;
        let mut before = "";
        for row in &self.rows {
            let job = if row.job == before { "" } else { row.job };
            before = row.job;
            line([
                job,
                &row.bytes.to_string(),
                &format!("{:.1}", row.nanoseconds),
                &or_dash(row.core_cycles, ""),
                &format!("{:.2}", row.gigabytes_per_second),
                &or_dash(row.percent_of_bound, " %"),
                &row.backend,
            ])?;
        }
        f.write_char('\n')
    }
}

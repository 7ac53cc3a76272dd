//! The method: candidates interleaved slice by slice, in one process, on one core.
//!
//! A slice is a run of calls that lasts about as long as the plan says. A round is one slice of
//! each candidate; the round after it starts with the next candidate, so that nobody is always
//! first. What disturbs the machine for a moment disturbs all of them alike; what disturbs it for
//! longer, a part of the rounds only, since these are spread over passes through all jobs. Each
//! slice starts with a few untimed calls, which bring back the caches and the predictors that the
//! one before took.

use core::time::Duration;

use crate::clock::Clock;
use crate::record::Row;

/// How long to measure.
#[derive(Clone, Copy)]
pub struct Plan {
    /// How many slices each candidate gets in one pass.
    pub rounds: usize,
    /// How long a slice lasts; one call, if that takes longer.
    pub slice: Duration,
}

/// One way of doing a job, ready to be timed.
pub struct Candidate<'a> {
    /// What its column is called.
    pub name: &'a str,
    /// Does so many calls and returns the ticks that they took.
    pub run: Box<dyn FnMut(u64) -> u64 + 'a>,
}

/// What is measured.
#[derive(Clone, Copy)]
pub struct Subject {
    /// The job's name.
    pub job: &'static str,
    /// What exactly is done.
    pub variant: &'static str,
    /// The length of a message in bytes.
    pub length: usize,
    /// How many messages one call handles.
    pub messages: u64,
}

/// The slices of one candidate.
pub struct Series {
    subject: Subject,
    peer: String,
    /// Ticks per message, one number per slice.
    ticks: Vec<f64>,
    /// The highest sample of the core's clock that was taken in between.
    core_hertz: Option<f64>,
    calls_per_slice: u64,
}

impl Series {
    /// Adds the slices of another pass.
    pub fn extend(&mut self, other: Self) {
        self.ticks.extend(other.ticks);
        self.core_hertz = highest(self.core_hertz, other.core_hertz);
    }

    /// The best slice and the median one.
    pub fn into_row(mut self, clock: Clock) -> Row {
        self.ticks.sort_by(f64::total_cmp);
        let min_ns = clock.nanoseconds(self.ticks[0]);
        let median_ns = clock.nanoseconds(self.ticks[self.ticks.len() / 2]);
        let cycles = |ns: f64| self.core_hertz.map(|hertz| ns * hertz / 1e9);
        Row {
            job: self.subject.job.into(),
            variant: self.subject.variant.into(),
            peer: self.peer,
            length: self.subject.length,
            min_cycles: cycles(min_ns),
            median_cycles: cycles(median_ns),
            min_ns,
            median_ns,
            calls_per_slice: self.calls_per_slice,
        }
    }
}

/// Times all candidates against each other; one series per candidate comes back, in their order.
pub fn measure(
    clock: Clock,
    plan: Plan,
    subject: Subject,
    mut candidates: Vec<Candidate<'_>>,
) -> Vec<Series> {
    let slice = plan.slice.as_secs_f64() * clock.hertz;
    let mut series: Vec<Series> = candidates
        .iter_mut()
        .map(|candidate| Series {
            subject,
            peer: candidate.name.into(),
            ticks: Vec::with_capacity(plan.rounds),
            core_hertz: None,
            calls_per_slice: calls_in(slice, &mut candidate.run),
        })
        .collect();
    let mut core_hertz = None;
    for round in 0..plan.rounds {
        core_hertz = highest(core_hertz, clock.core_hertz());
        for turn in 0..candidates.len() {
            let at = (round + turn) % candidates.len();
            let (run, series) = (&mut candidates[at].run, &mut series[at]);
            let calls = series.calls_per_slice;
            run(calls.div_ceil(WARM_UP_SHARE));
            series.ticks.push(run(calls) as f64 / (calls * subject.messages) as f64);
        }
    }
    for series in &mut series {
        series.core_hertz = core_hertz;
    }
    series
}

fn highest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// The untimed share of a slice: one eighth.
const WARM_UP_SHARE: u64 = 8;

/// How many calls fill a slice of so many ticks; finding out warms the candidate up.
fn calls_in(slice: f64, run: &mut impl FnMut(u64) -> u64) -> u64 {
    let mut calls = 1;
    loop {
        let taken = run(calls).max(1) as f64;
        if taken > slice / 4.0 {
            return (calls as f64 * slice / taken).max(1.0) as u64;
        }
        calls *= 2;
    }
}

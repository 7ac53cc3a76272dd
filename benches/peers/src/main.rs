//! `peers`: keyspring and the libraries that a user would pick instead, timed side by side in one
//! process. The method is told in `measure`, the peers stand in `peers`.

mod bounds;
mod check;
mod clock;
mod compare;
mod groups;
mod jobs;
mod machine;
mod measure;
mod peers;
mod plot;
mod record;
mod table;
mod traits;

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::clock::Clock;
use crate::jobs::{Bench, Job};
use crate::measure::{Plan, Series};
use crate::peers::{Peer, TABLE};
use crate::record::{Header, Record, Row};
use crate::table::Style;

/// Whatever went wrong outside of the measurements.
pub type Failure = Box<dyn core::error::Error>;

/// How often a run goes through all its jobs.
const PASSES: usize = 5;

/// keyspring and its peers, side by side.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check all peers against ours, time them, and write a record.
    Run(Run),
    /// Print the tables of a record.
    Table {
        /// The record.
        record: PathBuf,
        /// As Markdown.
        #[arg(long)]
        markdown: bool,
    },
    /// Print how far the ratios of two records differ.
    Compare {
        /// The one record.
        one: PathBuf,
        /// The other record.
        other: PathBuf,
    },
    /// Draw the charts of a record.
    Plot {
        /// The record.
        record: PathBuf,
        /// The folder for the charts [default: beside the record, under its name].
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Run {
    /// The jobs [default: all].
    jobs: Vec<Job>,
    /// A first impression in about a minute.
    #[arg(long)]
    quick: bool,
    /// Slices per candidate [default: 100, or 30 if quick].
    #[arg(long)]
    rounds: Option<usize>,
    /// The CPU to run on [default: the one that the program starts on].
    #[arg(long)]
    cpu: Option<usize>,
    /// Where records go, in a folder per CPU.
    #[arg(long)]
    record_dir: PathBuf,
    /// The name of the CPUID mask that the program runs under, for the record.
    #[arg(long)]
    mask: Option<String>,
    /// A peer that did not build, to be named among the errors; may be repeated.
    #[arg(long = "failed", value_name = "PEER")]
    failed: Vec<String>,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Run(run) => run.run(),
        Command::Table { record, markdown } => Record::read(&record).map(|record| {
            let style = if markdown { Style::Markdown } else { Style::Plain };
            table::print(&record.header, &record.rows, style);
            ExitCode::SUCCESS
        }),
        Command::Compare { one, other } => compare(&one, &other),
        Command::Plot { record, out } => plot(&record, out),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        ExitCode::FAILURE
    })
}

impl Run {
    /// Checks, measures, prints, and writes the record. Peers that fail are left out, named at the
    /// end, and make the exit code a failure.
    fn run(self) -> Result<ExitCode, Failure> {
        let cpu = machine::pin(self.cpu)?;
        let clock = Clock::calibrate();
        let plan = self.plan();

        let mut errors: Vec<String> =
            self.failed.iter().map(|peer| format!("{peer}: does not build")).collect();
        let mut peers = ready(&mut errors);

        let mut header = machine::describe();
        if let Some(mask) = &self.mask {
            machine::visible(&mut header, mask);
        }
        add_versions(&mut header, &peers);
        let core =
            clock.core_hertz().map_or("unknown".into(), |hertz| format!("{:.2} GHz", hertz / 1e9));
        header.insert("core clock".into(), core);
        header.insert("counter".into(), format!("{:.3} GHz", clock.hertz / 1e9));
        header.insert("pinned to cpu".into(), cpu.to_string());
        header.insert("rounds".into(), format!("{PASSES} passes of {}", plan.rounds));
        header.insert("slice".into(), format!("{:?}", plan.slice));
        for (at, error) in errors.iter().enumerate() {
            header.insert(format!("left out {}", at + 1), error.clone());
        }
        for (key, value) in &header {
            println!("{key}: {value}");
        }
        println!();

        let rows = self.measure(Bench { clock, plan }, &mut peers);
        table::print(&header, &rows, Style::Plain);

        let folder = self.record_dir.join(machine::slug(&header));
        let mask = self.mask.map_or_else(String::new, |mask| format!("-{mask}"));
        let name = format!("{}{mask}", header["date"]);
        let record = Record { header, rows };
        let path = record.write(&folder, &name)?;
        println!("record: {}", path.display());
        let charts = path.with_extension("");
        plot::draw(&record, &charts)?;
        println!("charts: {}", charts.display());
        for error in &errors {
            eprintln!("error: {error}");
        }
        Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Goes through all jobs several times, so that a bad minute of the machine spoils a part of
    /// each series, and none of them whole.
    fn measure(&self, bench: Bench, peers: &mut [Peer]) -> Vec<Row> {
        let mut series: Vec<Series> = Vec::new();
        for pass in 1..=PASSES {
            eprintln!("pass {pass} of {PASSES}");
            let mut found = self.jobs().into_iter().flat_map(|job| job.run(bench, peers));
            series.iter_mut().zip(&mut found).for_each(|(series, more)| series.extend(more));
            series.extend(found);
        }
        series.into_iter().map(|series| series.into_row(bench.clock)).collect()
    }

    fn plan(&self) -> Plan {
        let rounds = self.rounds.unwrap_or(if self.quick { 30 } else { 100 });
        Plan { rounds: rounds.div_ceil(PASSES).max(1), slice: Duration::from_micros(500) }
    }

    fn jobs(&self) -> Vec<Job> {
        if self.jobs.is_empty() { Job::value_variants().to_vec() } else { self.jobs.clone() }
    }
}

/// Starts and checks every peer; what fails goes to `errors`.
fn ready(errors: &mut Vec<String>) -> Vec<Peer> {
    let mut peers = Vec::new();
    for &(name, make) in TABLE {
        match check::start(name, make) {
            Ok(mut peer) => {
                errors.extend(check::check(&mut peer));
                peers.push(peer);
            }
            Err(error) => errors.push(error),
        }
    }
    peers
}

/// Names every peer's version, what its random bytes are made of, and what this machine lacks.
fn add_versions(header: &mut Header, peers: &[Peer]) {
    for peer in peers {
        header.insert(format!("peer {}", peer.name), peer.version.clone());
        for source in &peer.random {
            header.insert(format!("random {}", source.name), source.about.into());
        }
        if let Some(lacking) = peer.lacking {
            header.insert(format!("lacking {}", peer.name), lacking.into());
        }
    }
}

fn compare(one: &Path, other: &Path) -> Result<ExitCode, Failure> {
    compare::print(&Record::read(one)?, &Record::read(other)?);
    Ok(ExitCode::SUCCESS)
}

fn plot(path: &Path, out: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let folder = out.unwrap_or_else(|| path.with_extension(""));
    for chart in plot::draw(&Record::read(path)?, &folder)? {
        println!("{}", chart.display());
    }
    Ok(ExitCode::SUCCESS)
}

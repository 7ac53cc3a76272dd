//! The program `keyspring`: session keys, random bytes and sealed files on the command line.
//!
//! ```text
//! args       what the user may say
//! mint       the loop that makes keys and random bytes, a batch at a time
//! seal       the loop that seals and opens, a chunk at a time; `stream` in the library has the format
//! secret     keys and passphrases: from files, from the terminal
//! output     standard output, or a file that appears whole or not at all
//! signals    what ends the program early
//! help       completions for shells, and manual pages
//! speed      how fast this machine is: table, JSON, chart
//! machine    what runs here, and whether it computes what it should
//! sections   how long each backend keeps the vector registers, with the feature `section-stats`
//! failure    why a command ended early, and the exit code that says so
//! ```

#[cfg(not(unix))]
compile_error!("keyspring-cli is for Unix: it stands on file modes, signals and descriptors");

mod args;
mod failure;
mod help;
mod machine;
mod mint;
mod output;
mod seal;
mod secret;
#[cfg(feature = "section-stats")]
mod sections;
mod signals;
mod speed;

use std::process::ExitCode;

use clap::Parser;
use keyspring_cli::stream::Cost;

use self::args::{Cli, Command, Destination, Format};
use self::failure::Failure;
use self::mint::mint;
use self::output::Output;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    signals::catch_file_size_limit();
    match command {
        Command::Keygen { count, size, format, destination } => {
            let mut output = open(&destination, format)?;
            mint(count, size, format, &mut output)?;
            output.finish()
        }
        Command::Rand { bytes, format, destination } => {
            if bytes.is_none() && destination.file().is_some() {
                let message = "a file can't hold an endless stream; say how many BYTES it shall be";
                return Err(Failure::Usage(message.into()));
            }
            let mut output = open(&destination, format)?;
            // At a gigabyte a second, 2^64 - 1 bytes last for five centuries.
            mint(1, bytes.unwrap_or(u64::MAX), format, &mut output)?;
            output.finish()
        }
        Command::Seal { source, argon2_memory: memory, argon2_passes: passes, destination } => {
            seal::seal(&source, Cost { memory, passes }, &destination)
        }
        Command::Open { source, destination } => seal::open(&source, &destination),
        Command::Info => machine::info(),
        Command::Selftest => machine::self_test(),
        #[cfg(feature = "section-stats")]
        Command::Sections => sections::sections(),
        Command::Speed { quick, json, svg, force } => {
            speed::speed(quick, json, &Destination { out: svg, force })
        }
        Command::Completions { shell } => help::completions(shell),
        Command::Man { command } => help::man(command.as_deref()),
    }
}

/// The place for what is minted.
fn open(destination: &Destination, format: Format) -> Result<Output, Failure> {
    if format == Format::Raw {
        destination.spare_the_terminal()?;
    }
    Output::open(destination)
}

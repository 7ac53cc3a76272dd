//! What the user may say.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

/// The largest session key, 1 GiB: whoever wants more in one piece wants `rand`. It also keeps
/// the product of count and size far below 2^64.
const MAX_SIZE: u64 = 1 << 30;

/// The most keys of one run.
const MAX_COUNT: u64 = 1 << 32;

/// The largest file that there can be.
const MAX_BYTES: u64 = i64::MAX as u64;

/// Session keys and random bytes from a ChaCha20 CRNG.
#[derive(Debug, Parser)]
#[command(name = "keyspring", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Mint session keys: a line each in hex and base64, nothing between them in raw.
    Keygen {
        /// How many keys, 1 to 2^32.
        #[arg(short = 'n', long, default_value_t = 1)]
        #[arg(value_parser = value_parser!(u64).range(1..=MAX_COUNT))]
        count: u64,
        /// Bytes of a key, 1 to 2^30.
        #[arg(long, value_name = "BYTES", default_value_t = 256)]
        #[arg(value_parser = value_parser!(u64).range(1..=MAX_SIZE))]
        size: u64,
        /// How the bytes are written.
        #[arg(long, value_enum, default_value_t = Format::Hex)]
        format: Format,
        #[command(flatten)]
        destination: Destination,
    },
    /// Write random bytes, without end if no number is given.
    Rand {
        /// How many bytes, 1 to 2^63 - 1.
        #[arg(value_parser = value_parser!(u64).range(1..=MAX_BYTES))]
        bytes: Option<u64>,
        /// How the bytes are written.
        #[arg(long, value_enum, default_value_t = Format::Raw)]
        format: Format,
        #[command(flatten)]
        destination: Destination,
    },
    /// Show the CPU, the backend of each primitive and the mode of the CRNG.
    Info,
    /// Run known answers on every backend that this machine can run.
    Selftest,
}

const EXIT_CODES: &str = "Exit codes: 0, also if the reader closes the pipe; \
                          1 if the operation failed; 2 for wrong usage.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Raw,
    Hex,
    Base64,
}

#[derive(Args, Debug)]
pub(crate) struct Destination {
    /// Write to a new FILE of mode 0600, which appears whole or not at all; - is standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace FILE if it exists; write raw bytes to a terminal.
    #[arg(long)]
    pub(crate) force: bool,
}

impl Destination {
    /// The file to write; `None` is standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| *path != Path::new("-"))
    }
}

//! What the user may say.

use core::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use keyspring_cli::stream::Cost;

/// The largest session key, 1 GiB: whoever wants more in one piece wants `rand`. It also keeps
/// the product of count and size far below 2^64.
const MAX_SIZE: u64 = 1 << 30;

/// The most keys of one run.
const MAX_COUNT: u64 = 1 << 32;

/// The largest file that there can be.
const MAX_BYTES: u64 = i64::MAX as u64;

/// Session keys, random bytes and sealed files, on ChaCha20 and Poly1305.
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
    /// Seal a file or a pipe of any size with XChaCha20-Poly1305.
    #[command(after_long_help = FORMAT)]
    Seal {
        #[command(flatten)]
        source: Source,
        /// Memory in MiB that a guess at the passphrase costs, 19 to 1024; opening needs it too.
        #[arg(long, value_name = "MIB", conflicts_with = "key_file")]
        #[arg(default_value_t = Cost::DEFAULT.memory)]
        #[arg(value_parser = value_parser!(u32).range(MEMORY))]
        argon2_memory: u32,
        /// Passes over this memory, 2 to 10.
        #[arg(long, value_name = "COUNT", conflicts_with = "key_file")]
        #[arg(default_value_t = Cost::DEFAULT.passes)]
        #[arg(value_parser = value_parser!(u16).range(PASSES))]
        argon2_passes: u16,
        #[command(flatten)]
        destination: Destination,
    },
    /// Open what `seal` has sealed.
    ///
    /// A pipe gets nothing that was altered, but it may get the beginning of what turns out to be cut
    /// short: only exit code 0 says that this was all.
    Open {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        destination: Destination,
    },
    /// Show the CPU, the backend of each primitive and the mode of the CRNG.
    Info,
    /// Run known answers on every backend that this machine can run.
    Selftest,
    /// Measure how long each backend keeps the vector registers.
    #[cfg(feature = "section-stats")]
    Sections,
    /// Measure how fast this machine is, in a few seconds.
    ///
    /// The time of a call is that of the fastest slices of calls. Cycles are this time by the core's
    /// clock, which a chain of dependent multiplies tells; they are known on x86-64 alone. The last
    /// columns say how near that is to what the core's ports allow, where a bound is known, and which
    /// backends ran.
    Speed {
        /// Measure for a fraction of a second, which says less on a machine that is busy.
        #[arg(long)]
        quick: bool,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
        /// Draw a chart into a new FILE too.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        /// Replace FILE if it exists.
        #[arg(long, requires = "svg")]
        force: bool,
    },
    /// Print completions for a shell.
    Completions { shell: Shell },
    /// Print the manual page of a command, or of the program, for man to show.
    Man { command: Option<String> },
}

const EXIT_CODES: &str = "Exit codes: 0, for keygen and rand also if the reader closes the pipe; \
                          1 if the operation failed; 2 for wrong usage; \
                          3 if the key is wrong or the sealed file is not as it was sealed.";

const FORMAT: &str = "\
A sealed file is a header of 91 bytes and chunks. The header: \"keyspring sealed\", version (1 byte: 1), \
origin of the key (1 byte: 0 is a key file, 1 a passphrase by Argon2id with one lane), passes \
(2 bytes), memory in KiB (4 bytes), salt (16 bytes), nonce (19 bytes), check (32 bytes); numbers are \
little-endian. BLAKE2b-512 over the first 59 bytes, keyed with the key, is the key of the chunks and \
the check. A chunk is 64 KiB, the last one shorter, if need be empty, and a tag of 16 bytes: \
XChaCha20-Poly1305 with the header as AAD; its nonce is that of the header, the number of the chunk \
(4 bytes, big-endian), and a byte that is 1 for the last chunk (STREAM).";

const MEMORY: RangeInclusive<i64> = Cost::LEAST.memory as i64..=Cost::MOST.memory as i64;
const PASSES: RangeInclusive<i64> = Cost::LEAST.passes as i64..=Cost::MOST.passes as i64;

/// What to read, and with which key. Without either option a passphrase is asked for on the terminal.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// The file to read; - is standard input.
    #[arg(default_value = "-")]
    pub(crate) input: PathBuf,
    /// A file with the key: 32 bytes or 64 hex digits, as by `keygen --size 32`.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// A file whose first line is the passphrase; /dev/fd/N is descriptor N. Without this option and
    /// --key-file, the terminal is asked.
    #[arg(long, value_name = "FILE", conflicts_with = "key_file")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

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
    pub(crate) out: Option<PathBuf>,
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

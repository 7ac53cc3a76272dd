//! The loop that seals and opens, a chunk at a time.
//!
//! Two threads, so that reading and sealing go on while the one before is written:
//!
//! ```text
//!    .-- spare --.
//!    v           |      DEPTH buffers go round; each is wiped at the end
//!  read, seal  write
//!    |           ^
//!    '-- ready --'
//! ```

use core::time::Duration;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use keyspring_cli::stream::{CHUNK, Cost, Error, HEADER, Header, TAG};
use zeroize::Zeroizing;

use crate::args::{Destination, Source};
use crate::failure::Failure;
use crate::output::Output;
use crate::secret::{fill, known_passphrase, new_passphrase, not_read};

/// How many chunks are under way: enough that neither thread waits for the other's every one.
const DEPTH: usize = 8;

/// How long a signal may wait for an input that does not come.
const PATIENCE: Duration = Duration::from_millis(50);

type Chunk = Zeroizing<Vec<u8>>;

pub(crate) fn seal(source: &Source, cost: Cost, destination: &Destination) -> Result<(), Failure> {
    destination.spare_the_terminal()?;
    destination.check()?;
    let input = Input::open(&source.input)?;
    let secret = source.secret()?.map_or_else(new_passphrase, Ok)?;
    let (header, mut stream) = Header::seal(&secret, cost).map_err(|error| input.fails(error))?;
    drop(secret);
    let mut output = Output::open(destination)?;
    output.write(header.as_bytes()).map_err(unfinished)?;
    input.pump(output, CHUNK, move |chunk| stream.seal(chunk))
}

pub(crate) fn open(source: &Source, destination: &Destination) -> Result<(), Failure> {
    destination.check()?;
    let mut input = Input::open(&source.input)?;
    let mut bytes = [0; HEADER];
    let len = fill(&mut input.file, &mut bytes).map_err(|error| not_read(&input.path, error))?;
    let header = Header::parse(&bytes[..len]).map_err(|error| input.fails(error))?;
    let secret = match source.secret()? {
        None if header.has_passphrase() => known_passphrase()?,
        None => {
            let input = input.path.display();
            return Err(Failure::Usage(format!("{input} wants a key: name it with --key-file")));
        }
        Some(secret) => secret,
    };
    let mut stream = header.open(&secret).map_err(|error| input.fails(error))?;
    drop(secret);
    input.pump(Output::open(destination)?, CHUNK + TAG, move |chunk| stream.open(chunk))
}

#[derive(Debug)]
struct Input {
    file: File,
    path: PathBuf,
}

impl Input {
    fn open(path: &Path) -> Result<Self, Failure> {
        let (path, file) = if path == Path::new("-") {
            let descriptor = io::stdin().as_fd().try_clone_to_owned();
            (Path::new("standard input"), descriptor.map(File::from))
        } else {
            (path, File::open(path))
        };
        let file = file.map_err(|error| not_read(path, error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Reads chunks of `len` bytes, the last one shorter, and writes what `step` makes of them.
    fn pump(
        mut self,
        mut output: Output,
        len: usize,
        mut step: impl FnMut(&mut Vec<u8>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Failure> {
        let bar = if output.is_terminal() { ProgressBar::hidden() } else { self.bar() };
        let (to_writer, ready) = channel::<Result<Chunk, Failure>>();
        let (to_reader, spare) = channel::<Chunk>();
        for _ in 0..DEPTH {
            let buffer = Zeroizing::new(Vec::with_capacity(CHUNK + TAG));
            to_reader.send(buffer).expect("the receiver is at hand");
        }
        // If the writer fails it must not wait for an input that may never come: no scope, no join.
        let reader = thread::spawn(move || {
            for mut chunk in spare {
                chunk.resize(len, 0);
                let read = fill(&mut self.file, &mut chunk);
                let result = read.map_err(|error| not_read(&self.path, error)).and_then(|read| {
                    chunk.truncate(read);
                    step(&mut chunk).map_err(|error| self.fails(error))?;
                    Ok(read)
                });
                let goes_on = matches!(result, Ok(read) if read == len);
                if to_writer.send(result.map(|_| chunk)).is_err() || !goes_on {
                    break;
                }
            }
        });
        loop {
            match ready.recv_timeout(PATIENCE) {
                Ok(chunk) => {
                    let chunk = chunk?;
                    output.write(&chunk).map_err(unfinished)?;
                    bar.inc(chunk.len() as u64);
                    // The reader has gone if this is the last one.
                    let _ = to_reader.send(chunk);
                }
                Err(RecvTimeoutError::Timeout) => output.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        reader.join().expect("the reader does not panic");
        output.finish()
    }

    /// A bar if standard error is a terminal, nothing elsewhere.
    fn bar(&self) -> ProgressBar {
        let len = self.file.metadata().ok().filter(|file| file.is_file()).map(|file| file.len());
        let template = match len {
            Some(_) => "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}",
        };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        ProgressBar::with_draw_target(len, ProgressDrawTarget::stderr())
            .with_style(style)
            .with_finish(ProgressFinish::AndClear)
    }

    fn fails(&self, error: Error) -> Failure {
        let message = format!("{}: {error}", self.path.display());
        match error {
            Error::TooLong | Error::Memory(_) | Error::Entropy(_) => Failure::Failed(message),
            _ => Failure::Rejected(message),
        }
    }
}

/// Here success means that all of it was written.
fn unfinished(failure: Failure) -> Failure {
    match failure {
        Failure::ClosedPipe => Failure::Failed("standard output was closed before the end".into()),
        failure => failure,
    }
}

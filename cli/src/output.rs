//! Standard output, or a file that appears whole or not at all.

use core::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::args::Destination;
use crate::failure::Failure;
use crate::signals::Signals;

#[derive(Debug)]
pub(crate) enum Output {
    /// A descriptor of our own: the standard library's would keep secrets in its line buffer.
    Standard(File),
    File(Draft),
}

/// A file of mode 0600 under a passing name, in the directory where it shall be. Dropping it
/// removes it.
#[derive(Debug)]
pub(crate) struct Draft {
    temporary: NamedTempFile,
    path: PathBuf,
    force: bool,
    signals: Signals,
}

/// Writes a text to standard output.
pub(crate) fn print(text: &[u8]) -> Result<(), Failure> {
    Output::standard()?.write(text)
}

impl Output {
    /// Sees that there is a place to write to before anything is made.
    pub(crate) fn open(destination: &Destination) -> Result<Self, Failure> {
        match destination.file() {
            Some(path) => Draft::create(path, destination.force).map(Self::File),
            None => Self::standard(),
        }
    }

    fn standard() -> Result<Self, Failure> {
        let descriptor = io::stdout().as_fd().try_clone_to_owned().map_err(not_written)?;
        Ok(Self::Standard(descriptor.into()))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard(file) => file.write_all(bytes).map_err(not_written),
            Self::File(draft) => draft.write(bytes),
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Standard(file) if file.is_terminal())
    }

    /// Fails if a signal asked the program to end and there is a file to remove first.
    pub(crate) fn check_signals(&self) -> Result<(), Failure> {
        match self {
            Self::Standard(_) => Ok(()),
            Self::File(draft) => draft.check_signals(),
        }
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Standard(_) => Ok(()),
            Self::File(draft) => draft.publish(),
        }
    }
}

impl Destination {
    /// Refuses raw bytes for a terminal.
    pub(crate) fn spare_the_terminal(&self) -> Result<(), Failure> {
        if self.file().is_some() || self.force || !io::stdout().is_terminal() {
            return Ok(());
        }
        let message = "raw bytes would garble the terminal; redirect them to a file or a pipe, \
                       or insist with --force";
        Err(Failure::Usage(message.into()))
    }

    /// Refuses what would be lost, and what could not be replaced.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.file().map_or(Ok(()), |path| check_target(path, self.force))
    }
}

impl Draft {
    fn create(path: &Path, force: bool) -> Result<Self, Failure> {
        check_target(path, force)?;
        // Before the file, so that no signal finds the one without the other.
        let signals = Signals::watch().map_err(|error| not_created(path, error))?;
        let directory = directory_of(path);
        let temporary = Builder::new().prefix(".keyspring-").make_in(directory, |name| {
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(name)
        });
        let temporary = temporary.map_err(|error| match error.kind() {
            ErrorKind::NotFound if !directory.exists() => {
                let directory = directory.display();
                not_created(path, format!("there is no directory {directory}; create it first"))
            }
            _ => not_created(path, error),
        })?;
        Ok(Self { temporary, path: path.to_owned(), force, signals })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.check_signals()?;
        // The file's own error: the temporary file's names a path that means nothing to the user.
        self.temporary
            .as_file_mut()
            .write_all(bytes)
            .map_err(|error| not_created(&self.path, error))
    }

    /// Gives the file its name, once all of it is on the disk.
    fn publish(self) -> Result<(), Failure> {
        self.temporary.as_file().sync_all().map_err(|error| not_created(&self.path, error))?;
        self.check_signals()?;
        let Self { temporary, path, force, .. } = self;
        let published =
            if force { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        published.map_err(|failed| match failed.error.kind() {
            ErrorKind::AlreadyExists => not_created(&path, EXISTS),
            _ => not_created(&path, failed.error),
        })?;
        // The name is on the disk only once the directory is. Not every file system can be asked.
        let _ = File::open(directory_of(&path)).and_then(|directory| directory.sync_all());
        Ok(())
    }

    fn check_signals(&self) -> Result<(), Failure> {
        self.signals.received().map_or(Ok(()), |signal| Err(Failure::Signal(signal)))
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

const EXISTS: &str = "file exists; use --force to replace it";

/// Refuses what would be lost, and what could not be replaced, before anything is made.
fn check_target(path: &Path, force: bool) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(not_created(path, error)),
        Ok(there) if there.is_dir() => {
            Err(not_created(path, "it is a directory; name a file in it"))
        }
        // To rename over a link or a device would replace the thing itself.
        Ok(there) if !there.is_file() => {
            Err(not_created(path, "it is a link, a device or the like; write to it with '>'"))
        }
        Ok(_) if !force => Err(not_created(path, EXISTS)),
        Ok(_) => Ok(()),
    }
}

fn not_created(path: &Path, reason: impl Display) -> Failure {
    Failure::Failed(format!("cannot create {}: {reason}", path.display()))
}

fn not_written(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Failed(format!("cannot write to standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_appears_meanwhile_stays_unless_forced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        for (force, left) in [(false, "precious"), (true, "new")] {
            let _ = fs::remove_file(&path);
            let mut draft = Draft::create(&path, force).unwrap();
            draft.write(b"new").unwrap();
            fs::write(&path, "precious").unwrap();
            assert_eq!(draft.publish().is_ok(), force, "force {force}");
            assert_eq!(fs::read_to_string(&path).unwrap(), left, "force {force}");
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "force {force}");
        }
    }
}

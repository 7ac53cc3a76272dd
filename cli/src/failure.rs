//! Why a command ended early, and the exit code that says so.

use std::io::{self, Write};
use std::process::ExitCode;

use signal_hook::low_level::emulate_default_handler;

#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader has closed the pipe: it has what it wanted, and nobody is left to tell.
    ClosedPipe,
    /// A signal asked the program to end.
    Signal(i32),
    /// The command line can't be carried out as it stands.
    Usage(String),
    /// The operation failed.
    Failed(String),
    /// The key is wrong, or the sealed file is not as it was sealed.
    Rejected(String),
}

impl Failure {
    /// Tells the user, and gives the exit code; after a signal, ends the program by that signal, so
    /// that a shell knows.
    pub(crate) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::ClosedPipe => return ExitCode::SUCCESS,
            Self::Signal(signal) => {
                // It returns only if the signal can't be raised.
                let _ = emulate_default_handler(signal);
                (format!("ended by signal {signal}"), 1)
            }
            Self::Failed(message) => (message, 1),
            Self::Usage(message) => (message, 2),
            Self::Rejected(message) => (message, 3),
        };
        // If standard error is full or closed too, the exit code has to do.
        let _ = writeln!(io::stderr(), "keyspring: {message}");
        ExitCode::from(code)
    }
}

//! The program as its users meet it: what it prints, what it leaves on the disk, how it ends.

mod arguments;
mod files;
mod keygen;
mod machine;
mod pipes;
mod seal;
mod speed;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Output};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The program with `args`, split at spaces, to be run in `directory`.
fn keyspring(directory: &Path, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyspring"));
    command.current_dir(directory).args(args.split_whitespace());
    command
}

/// The program under a shell that runs `before` first.
fn keyspring_after(before: &str, directory: &Path, args: &str) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(directory).args(["-c", &format!("{before}; exec \"$0\" {args}")]);
    command.arg(env!("CARGO_BIN_EXE_keyspring"));
    command
}

/// What `keyspring args` prints where no file is involved; it must succeed without a word beside.
fn stdout_of(args: &str) -> Vec<u8> {
    let output = keyspring(Path::new("."), args).output().unwrap();
    expect(&output, 0, "");
    output.stdout
}

/// Asserts the exit code, and that standard error is empty if `message` is, and contains it if not.
#[track_caller]
fn expect(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}: {stderr}", output.status);
    assert!(stderr.contains(message), "{message:?} is not in {stderr:?}");
    assert_eq!(stderr.is_empty(), message.is_empty(), "{stderr}");
}

/// A new terminal: what the user holds, and the path of what a program gets.
fn terminal() -> (OwnedFd, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    (terminal, name)
}

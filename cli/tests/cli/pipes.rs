//! Standard output: a pipe that closes, a disk that is full, a terminal.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{expect, keyspring, terminal};

fn start(args: &str) -> Command {
    let mut command = keyspring(Path::new("."), args);
    command.stderr(Stdio::piped());
    command
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    for args in [
        "rand",
        "rand 1000000000",
        "rand --format base64",
        "keygen -n 4294967296",
        "keygen -n 4294967296 --format raw",
    ] {
        let mut child = start(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut head = [0; 100_000];
        child.stdout.take().unwrap().read_exact(&mut head).unwrap();
        expect(&child.wait_with_output().unwrap(), 0, "");
    }
}

#[test]
fn a_pipe_closed_before_the_first_byte_is_no_failure() {
    for args in ["keygen", "rand 1", "info", "selftest"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        expect(&start(args).stdout(writer).output().unwrap(), 0, "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_with_a_message() {
    for args in ["keygen", "keygen -n 100000", "rand", "rand 1", "info", "selftest"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = start(args).stdout(full).output().unwrap();
        let message = "keyspring: cannot write to standard output: No space left on device";
        expect(&output, 1, message);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nowhere_to_put_the_message_changes_no_exit_code() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let status = start("rand").stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1), "{status}");
}

#[test]
fn raw_bytes_reach_a_terminal_by_force_alone() {
    let (_terminal, name) = terminal();
    let run = |args| {
        let side = File::options().read(true).write(true).open(&name).unwrap();
        start(args).stdout(side).output().unwrap()
    };
    for args in ["rand", "rand 8", "keygen --format raw"] {
        expect(&run(args), 2, "keyspring: raw bytes would garble the terminal; ");
    }
    for args in ["rand 8 --force", "rand 8 --format hex", "keygen --size 8"] {
        expect(&run(args), 0, "");
    }
}

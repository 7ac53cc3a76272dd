//! The files: who may read them, what they may replace, what is left of them.

use core::time::Duration;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::{TempDir, tempdir};

use crate::{expect, keyspring, keyspring_after};

/// Every name in the directory, sorted.
pub(crate) fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
pub(crate) fn expect_run(directory: &TempDir, args: &str, code: i32, message: &str) {
    let output = keyspring(directory.path(), args).output().unwrap();
    assert!(output.stdout.is_empty(), "{args}");
    expect(&output, code, message);
}

#[test]
fn a_file_is_whole_and_its_owners_alone() {
    let directory = tempdir().unwrap();
    expect_run(&directory, "keygen -n 1000 --format raw --out keys.bin", 0, "");
    expect_run(&directory, "rand 1000000 --out random.bin", 0, "");
    for (name, len) in [("keys.bin", 256_000), ("random.bin", 1_000_000)] {
        let file = fs::metadata(directory.path().join(name)).unwrap();
        assert_eq!(file.len(), len, "{name}");
        assert_eq!(file.permissions().mode() & 0o7777, 0o600, "{name}");
    }
    assert_eq!(names(&directory), ["keys.bin", "random.bin"]);
}

#[test]
fn an_existing_file_stays_unless_forced() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("keys.bin");
    fs::write(&path, "precious").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();

    let message = "keyspring: cannot create keys.bin: file exists; use --force to replace it\n";
    expect_run(&directory, "keygen --out keys.bin", 1, message);
    expect_run(&directory, "rand 9 --out keys.bin", 1, message);
    assert_eq!(fs::read(&path).unwrap(), b"precious");

    expect_run(&directory, "keygen --out keys.bin --force", 0, "");
    assert_eq!(fs::metadata(&path).unwrap().len(), 513);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(names(&directory), ["keys.bin"]);
}

#[test]
fn force_replaces_regular_files_alone() {
    let directory = tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("folder")).unwrap();
    fs::write(root.join("precious"), "precious").unwrap();
    symlink("precious", root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let before = names(&directory);

    for target in ["folder", "folder/", ".", "..", "/"] {
        for force in ["", "--force"] {
            let args = format!("keygen --out {target} {force}");
            let message = format!("keyspring: cannot create {target}: it is a directory");
            expect_run(&directory, &args, 1, &message);
        }
    }
    for target in ["link", "dangling", "/dev/null"] {
        for force in ["", "--force"] {
            let args = format!("keygen --out {target} {force}");
            expect_run(
                &directory,
                &args,
                1,
                "it is a link, a device or the like; write to it with '>'",
            );
        }
    }
    assert_eq!(fs::read(root.join("precious")).unwrap(), b"precious");
    assert_eq!(names(&directory), before);
}

#[test]
fn a_path_that_cannot_be_is_named() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    expect_run(
        &directory,
        "keygen --out missing/keys.bin",
        1,
        "keyspring: cannot create missing/keys.bin: there is no directory missing; create it first",
    );
    expect_run(&directory, "keygen --out file/keys.bin", 1, "file/keys.bin: Not a directory");
    expect_run(&directory, "keygen --out new/", 1, "cannot create new/: ");
    let long = "x".repeat(300);
    expect_run(&directory, &format!("keygen --out {long}"), 1, "File name too long");
    assert_eq!(names(&directory), ["file"]);
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let directory = tempdir().unwrap();
    // One block is at most 1024 bytes, and the file needs more, whether it is written at once or not.
    for args in ["keygen -n 100 --out keys.bin", "rand 100000000 --out keys.bin --force"] {
        let output = keyspring_after("ulimit -f 1", directory.path(), args).output().unwrap();
        expect(&output, 1, "keyspring: cannot create keys.bin: File too large");
        assert!(names(&directory).is_empty(), "{:?}", names(&directory));
    }
}

#[test]
fn a_full_disk_leaves_the_file_that_was_to_be_replaced() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("keys.bin"), "precious").unwrap();
    let args = "keygen -n 100 --out keys.bin --force";
    let output = keyspring_after("ulimit -f 1", directory.path(), args).output().unwrap();
    expect(&output, 1, "File too large");
    assert_eq!(fs::read(directory.path().join("keys.bin")).unwrap(), b"precious");
    assert_eq!(names(&directory), ["keys.bin"]);
}

/// Long enough for a signal to come first, and bounded, lest a signal that is lost fill the disk.
const LONG: &str = "rand 500000000 --out random.bin";

/// Starts the program, and returns when its temporary file is there.
pub(crate) fn start(directory: &TempDir, mut command: Command) -> Child {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..30_000 {
        if !names(directory).is_empty() {
            return child;
        }
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    panic!("no temporary file after half a minute: {:?}", child.wait_with_output());
}

pub(crate) fn kill(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_signal_leaves_nothing_behind_and_is_what_ends_the_program() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let directory = tempdir().unwrap();
        let child = start(&directory, keyspring(directory.path(), LONG));
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        // Whoever runs the tests in the background may have these two ignored, down to the child,
        // and then they must be without effect.
        if is_ignored(signal) {
            expect(&output, 0, "");
            continue;
        }
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{}", output.status);
        assert!(output.stderr.is_empty());
        assert!(names(&directory).is_empty(), "{signal:?}: {:?}", names(&directory));
    }
}

/// Whether this process, and so its children, ignores a signal.
pub(crate) fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let directory = tempdir().unwrap();
    let args = "rand 100000000 --out random.bin";
    let child = start(&directory, keyspring_after("trap '' HUP INT", directory.path(), args));
    kill(&child, Signal::HUP);
    kill(&child, Signal::INT);
    expect(&child.wait_with_output().unwrap(), 0, "");
    assert_eq!(fs::metadata(directory.path().join("random.bin")).unwrap().len(), 100_000_000);
}

#[test]
fn an_unfinished_file_is_the_owners_alone_too() {
    let directory = tempdir().unwrap();
    let mut child = start(&directory, keyspring(directory.path(), LONG));
    child.kill().unwrap();
    child.wait().unwrap();
    let [name] = names(&directory).try_into().unwrap();
    assert!(name.starts_with(".keyspring-"), "{name}");
    let file = fs::metadata(directory.path().join(name)).unwrap();
    assert_eq!(file.permissions().mode() & 0o7777, 0o600);
}

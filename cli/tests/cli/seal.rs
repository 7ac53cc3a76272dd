//! Sealed files as users meet them; the format itself has its own tests beside.

use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use rustix::process::Signal;
#[cfg(target_os = "linux")]
use rustix::termios::{LocalModes, tcgetattr};
use tempfile::{TempDir, tempdir};

use crate::files::{expect_run, is_ignored, kill, names, start};
use crate::{expect, keyspring, keyspring_after, terminal};

/// Bytes of the header, of a chunk of plaintext and of a tag.
const HEADER: usize = 91;
const CHUNK: usize = 64 << 10;
const TAG: usize = 16;

/// Long enough for several chunks.
const LONG: usize = 3 * CHUNK + 10;

/// 0, 1, 2, ... with period 251.
fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// A directory with the key `key`, the passphrase `words`, the file `plain`, `LONG` bytes, and
/// `sealed`, the same under the key.
fn prepared() -> TempDir {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("words"), "correct horse\n").unwrap();
    fs::write(directory.path().join("plain"), painted(LONG)).unwrap();
    expect_run(&directory, "keygen --size 32 --out key", 0, "");
    expect_run(&directory, "seal plain --key-file key --out sealed", 0, "");
    directory
}

/// Runs the program with `input` at standard input.
fn run(directory: &TempDir, args: &str, input: &[u8]) -> Output {
    let mut command = keyspring(directory.path(), args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // The program may end before it has read all.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn files_and_pipes_open_again() {
    let directory = prepared();
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    for secret in ["--key-file key", "--passphrase-file words --argon2-memory 19 --argon2-passes 2"]
    {
        let secret_to_open = secret.split(" --argon2").next().unwrap();
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, LONG] {
            let plain = painted(len);
            fs::write(directory.path().join("some"), &plain).unwrap();
            expect_run(&directory, &format!("seal some {secret} --out a --force"), 0, "");
            expect_run(&directory, &format!("open a {secret_to_open} --out b --force"), 0, "");
            assert!(read("b") == plain, "{len} bytes in files, {secret}");
            assert_eq!(read("a").len(), HEADER + len + (len / CHUNK + 1) * TAG, "{len} bytes");

            let sealed = run(&directory, &format!("seal {secret}"), &plain);
            expect(&sealed, 0, "");
            let opened = run(&directory, &format!("open - {secret_to_open}"), &sealed.stdout);
            expect(&opened, 0, "");
            assert!(opened.stdout == plain, "{len} bytes in pipes, {secret}");
        }
    }
    let mode = fs::metadata(directory.path().join("b")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[test]
fn a_key_is_32_bytes_or_64_digits() {
    let directory = prepared();
    let digits = fs::read_to_string(directory.path().join("key")).unwrap();
    let digits = digits.trim_end();
    let raw = base16ct::lower::decode_vec(digits).unwrap();
    let open = |key: &Vec<u8>| {
        fs::write(directory.path().join("other"), key).unwrap();
        keyspring(directory.path(), "open sealed --key-file other").output().unwrap()
    };
    for key in [
        raw.clone(),
        digits.into(),
        digits.to_uppercase().into(),
        format!("{digits}\n").into(),
        format!("{digits}\r\n").into(),
    ] {
        expect(&open(&key), 0, "");
    }
    for key in [
        Vec::new(),
        raw[..31].to_vec(),
        [raw.as_slice(), b"\n"].concat(),
        [0; 256].to_vec(),
        digits[..63].into(),
        format!("{digits}0").into(),
        format!("{digits}\n{digits}\n").into(),
        format!("g{}", &digits[1..]).into(),
    ] {
        let message = "keyspring: other is no key: it must hold 32 bytes or 64 hex digits";
        expect(&open(&key), 1, message);
    }
    for args in ["--key-file missing", "--passphrase-file missing"] {
        let message = "keyspring: cannot read missing: No such file";
        expect_run(&directory, &format!("open sealed {args}"), 1, message);
    }
    expect_run(&directory, "open sealed --key-file /dev/zero", 1, "/dev/zero is no key");
}

#[test]
fn a_passphrase_is_the_first_line() {
    let directory = prepared();
    expect_run(&directory, "seal plain --passphrase-file words --out a --argon2-memory 19", 0, "");
    for (text, code) in [
        ("correct horse", 0),
        ("correct horse\nbattery staple\n", 0),
        ("correct horse \n", 3),
        ("correct horse\r\n", 3),
    ] {
        fs::write(directory.path().join("other"), text).unwrap();
        let output = keyspring(directory.path(), "open a --passphrase-file other").output();
        assert_eq!(output.unwrap().status.code(), Some(code), "{text:?}");
    }
    for (text, message) in [
        (String::new(), "the passphrase from other is empty"),
        ("\nwords\n".into(), "the passphrase from other is empty"),
        ("x".repeat(1025), "the passphrase from other is over 1024 bytes"),
    ] {
        fs::write(directory.path().join("other"), text).unwrap();
        expect_run(&directory, "seal plain --passphrase-file other --out b", 1, message);
    }
    let args = "open a --passphrase-file /dev/fd/3";
    let output = keyspring_after("exec 3<words", directory.path(), args).output().unwrap();
    expect(&output, 0, "");
    assert!(output.stdout == painted(LONG));
}

#[test]
fn what_does_not_open_says_why_and_leaves_nothing() {
    let directory = prepared();
    let sealed = fs::read(directory.path().join("sealed")).unwrap();
    fs::write(directory.path().join("wrong"), [7; 32]).unwrap();
    fs::write(directory.path().join("bad"), "").unwrap();
    let before = names(&directory);
    let second = HEADER + CHUNK + TAG;
    let altered = |at: usize| {
        let mut file = sealed.clone();
        file[at] ^= 1;
        file
    };
    let at = |place: &str| format!("bad: damaged, cut short or continued from byte {place} on\n");
    for (case, file, key, message) in [
        ("empty", vec![], "key", "bad: this is no file that keyspring sealed\n".into()),
        ("foreign", painted(1000), "key", "bad: this is no file that keyspring sealed\n".into()),
        ("header cut", sealed[..90].into(), "key", "bad: cut short: the end is missing\n".into()),
        ("header alone", sealed[..91].into(), "key", "bad: cut short: the end is missing\n".into()),
        ("cut at a chunk", sealed[..second].into(), "key", "bad: cut short: the end is".into()),
        ("cut", sealed[..second + 99].into(), "key", at("65643")),
        ("continued", [&sealed[..], b"!"].concat(), "key", at("196747")),
        ("doubled", sealed.repeat(2), "key", at("196747")),
        ("version", altered(16), "key", "bad: version 0 of the format is not known\n".into()),
        ("origin", altered(17), "key", "bad: the header is damaged or asks for too much\n".into()),
        ("salt", altered(30), "key", "bad: the key is wrong, or the header is damaged\n".into()),
        ("chunk", altered(second + 5), "key", at("65643")),
        ("key", sealed.clone(), "wrong", "bad: the key is wrong, or the header is dam".into()),
    ] {
        fs::write(directory.path().join("bad"), file).unwrap();
        let args = format!("open bad --key-file {key} --out new");
        expect_run(&directory, &args, 3, &format!("keyspring: {message}"));
        assert_eq!(names(&directory), before, "{case}");
    }
    let message = "sealed: it was not sealed with this kind of key";
    expect_run(&directory, "open sealed --passphrase-file words", 3, message);
    expect_run(&directory, "open sealed", 2, "sealed wants a key: name it with --key-file");
}

#[test]
fn a_pipe_gets_authentic_chunks_alone() {
    let directory = prepared();
    let sealed = fs::read(directory.path().join("sealed")).unwrap();
    let second = HEADER + CHUNK + TAG;
    let mut altered = sealed.clone();
    altered[second + CHUNK / 2] ^= 1;
    for (case, file) in [("cut", &sealed[..second + 99]), ("altered", &altered)] {
        let output = run(&directory, "open --key-file key", file);
        expect(&output, 3, "keyspring: standard input: damaged, cut short or continued from byte");
        assert!(output.stdout == painted(CHUNK), "{case}: {} bytes", output.stdout.len());
    }
}

#[test]
fn nothing_is_overwritten_unless_forced() {
    let directory = prepared();
    let path = |name: &str| directory.path().join(name);
    let message = "keyspring: cannot create plain: file exists; use --force to replace it\n";
    // Before any passphrase is asked for.
    expect_run(&directory, "seal plain --out plain", 1, message);
    expect_run(&directory, "open sealed --key-file key --out plain", 1, message);
    assert!(fs::read(path("plain")).unwrap() == painted(LONG));

    // Input and output may be one file, and it is replaced only at the end.
    expect_run(&directory, "seal plain --key-file key --out plain --force", 0, "");
    assert_eq!(fs::read(path("plain")).unwrap().len(), LONG + HEADER + 4 * TAG);
    fs::copy(path("plain"), path("kept")).unwrap();
    fs::write(path("wrong"), [7; 32]).unwrap();
    expect_run(&directory, "open plain --key-file wrong --out plain --force", 3, "key is wrong");
    assert!(fs::read(path("plain")).unwrap() == fs::read(path("kept")).unwrap());
    expect_run(&directory, "open plain --key-file key --out plain --force", 0, "");
    assert!(fs::read(path("plain")).unwrap() == painted(LONG));
}

#[test]
fn an_input_may_be_a_link_an_output_may_not() {
    let directory = prepared();
    symlink("plain", directory.path().join("link")).unwrap();
    expect_run(&directory, "seal link --key-file key --out a", 0, "");
    let message = "cannot create link: it is a link, a device or the like; write to it with '>'";
    expect_run(&directory, "open a --key-file key --out link --force", 1, message);
    expect_run(&directory, "open a --key-file key --out b", 0, "");
    assert!(fs::read(directory.path().join("b")).unwrap() == painted(LONG));
}

#[test]
fn an_input_that_cannot_be_read_is_named() {
    let directory = prepared();
    fs::create_dir(directory.path().join("folder")).unwrap();
    let before = names(&directory);
    for command in ["seal", "open"] {
        for (input, reason) in [
            ("missing", "No such file"),
            ("folder", "Is a directory"),
            #[cfg(target_os = "linux")]
            ("/proc/self/mem", "Input/output error"),
        ] {
            let args = format!("{command} {input} --key-file key --out new");
            let message = format!("keyspring: cannot read {input}: {reason}");
            expect_run(&directory, &args, 1, &message);
        }
    }
    assert_eq!(names(&directory), before);
    let message = "keyspring: cannot create folder: it is a directory";
    expect_run(&directory, "seal plain --key-file key --out folder --force", 1, message);
}

#[test]
fn a_disk_that_is_full_leaves_nothing() {
    let directory = prepared();
    let before = names(&directory);
    for args in ["seal plain --key-file key --out new", "open sealed --key-file key --out new"] {
        let output = keyspring_after("ulimit -f 1", directory.path(), args).output().unwrap();
        expect(&output, 1, "keyspring: cannot create new: File too large");
        assert_eq!(names(&directory), before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_a_pipe_is_a_failure() {
    let directory = prepared();
    for args in ["seal plain --key-file key", "open sealed --key-file key"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = keyspring(directory.path(), args);
        let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
        expect(&output, 1, "keyspring: cannot write to standard output: No space left on device");
    }
}

#[test]
fn a_closed_pipe_is_a_failure_since_not_all_was_written() {
    let directory = prepared();
    for args in ["seal plain --key-file key", "open sealed --key-file key"] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = keyspring(directory.path(), args);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        expect(&output, 1, "keyspring: standard output was closed before the end\n");
    }
}

#[test]
fn a_signal_half_way_leaves_no_file() {
    let prepared = prepared();
    let key = prepared.path().join("key");
    let sealed = fs::read(prepared.path().join("sealed")).unwrap();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        if is_ignored(signal) {
            continue;
        }
        for (command, input) in [("seal", painted(LONG)), ("open", sealed.clone())] {
            let directory = tempdir().unwrap();
            let args = format!("{command} --key-file {} --out new", key.display());
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(&input[..HEADER]).unwrap();
            let mut program = keyspring(directory.path(), &args);
            program.stdin(reader);
            let child = start(&directory, program);
            writer.write_all(&input[HEADER..LONG / 2]).unwrap();
            // The input stays open: the program waits for more of it when the signal comes.
            kill(&child, signal);
            let output = child.wait_with_output().unwrap();
            drop(writer);
            assert_eq!(output.status.signal(), Some(signal.as_raw()), "{command} {signal:?}");
            assert!(names(&directory).is_empty(), "{command}: {:?}", names(&directory));
        }
    }
}

#[test]
fn killed_outright_no_file_has_the_name() {
    let prepared = prepared();
    let key = prepared.path().join("key");
    let directory = tempdir().unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    let mut program =
        keyspring(directory.path(), &format!("seal --key-file {} --out new", key.display()));
    program.stdin(reader);
    let child = start(&directory, program);
    writer.write_all(&painted(LONG / 2)).unwrap();
    kill(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    let names = names(&directory);
    assert!(names.iter().all(|name| name.starts_with(".keyspring-")), "{names:?}");
}

/// The most memory that a running program has had, in KiB.
#[cfg(target_os = "linux")]
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_pipe() {
    const BYTES: usize = 200 << 20;
    let directory = prepared();
    let start = |command: &str, input: Stdio| {
        let mut program = keyspring(directory.path(), &format!("{command} --key-file key"));
        program.stdin(input).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut sealing = start("seal", Stdio::piped());
    let mut opening = start("open", sealing.stdout.take().unwrap().into());
    let mut input = sealing.stdin.take().unwrap();
    let mut output = opening.stdout.take().unwrap();
    let reader = thread::spawn(move || io::copy(&mut output, &mut io::sink()).unwrap());
    for _ in 0..BYTES >> 20 {
        input.write_all(&[0; 1 << 20]).unwrap();
    }
    // Both are still there: the input has not ended.
    for child in [&sealing, &opening] {
        assert!(peak(child) < 20 << 10, "{} KiB", peak(child));
    }
    drop(input);
    assert_eq!(reader.join().unwrap(), BYTES as u64);
    assert!(sealing.wait().unwrap().success() && opening.wait().unwrap().success());
}

#[test]
fn a_terminal_is_spared_sealed_bytes_but_not_opened_ones() {
    let directory = prepared();
    fs::write(directory.path().join("short"), "attack at dawn").unwrap();
    expect_run(&directory, "seal short --key-file key --out a", 0, "");
    let (_terminal, name) = terminal();
    let run = |args| {
        let side = File::options().read(true).write(true).open(&name).unwrap();
        let mut command = keyspring(directory.path(), args);
        command.stdout(side).stderr(Stdio::piped()).output().unwrap()
    };
    expect(&run("seal short --key-file key"), 2, "keyspring: raw bytes would garble the terminal");
    expect(&run("seal short --key-file key --force"), 0, "");
    expect(&run("open a --key-file key"), 0, "");
}

/// Runs the program on a terminal of its own, types a line at each prompt, and gives the exit code
/// and what the terminal showed.
#[cfg(target_os = "linux")]
fn at_a_terminal(directory: &TempDir, args: &str, lines: &[&str]) -> (Option<i32>, String) {
    let (master, name) = terminal();
    let side = File::options().read(true).write(true).open(name).unwrap();
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_keyspring")]).args(args.split(' '));
    command.current_dir(directory.path()).stdin(side.try_clone().unwrap());
    let mut child = command.stdout(side.try_clone().unwrap()).stderr(side).spawn().unwrap();
    drop(command);
    let (mut shown, mut terminal) = (String::new(), File::from(master));
    let mut lines = lines.iter();
    let mut buffer = [0; 1000];
    // The end is an error once nobody has the other side.
    while let Ok(len @ 1..) = terminal.read(&mut buffer) {
        shown += core::str::from_utf8(&buffer[..len]).unwrap();
        if shown.ends_with("Passphrase: ") || shown.ends_with("again: ") {
            // The prompt comes first, then the echo goes.
            while tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO) {
                thread::sleep(Duration::from_millis(1));
            }
            let line = lines.next().expect("a prompt too many");
            terminal.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    }
    assert!(lines.next().is_none(), "a prompt is missing: {shown:?}");
    (child.wait().unwrap().code(), shown)
}

#[cfg(target_os = "linux")]
#[test]
fn a_passphrase_is_asked_for_without_echo_and_twice_when_it_is_new() {
    let directory = prepared();
    let seal = "seal plain --out a --argon2-memory 19 --argon2-passes 2";
    let hello = run(&directory, "seal --key-file key --out hello", b"hello");
    expect(&hello, 0, "");
    let (code, shown) = at_a_terminal(&directory, seal, &["secret", "secret"]);
    assert_eq!(code, Some(0), "{shown:?}");
    assert!(shown.starts_with("Passphrase: \r\nThe same again: \r\n"), "{shown:?}");
    assert!(shown.contains(" of 192.01 KiB, "), "no progress bar: {shown:?}");
    let (code, shown) = at_a_terminal(&directory, "open a --out b", &["secret"]);
    assert_eq!(code, Some(0), "{shown:?}");
    assert!(shown.starts_with("Passphrase: \r\n") && !shown.contains("secret"), "{shown:?}");
    assert!(fs::read(directory.path().join("b")).unwrap() == painted(LONG));
    let (code, shown) = at_a_terminal(&directory, "open hello --key-file key", &[]);
    assert_eq!((code, &*shown), (Some(0), "hello"), "a progress bar in the way");

    let again = "seal plain --out c --argon2-memory 19 --argon2-passes 2";
    for (args, lines, code, message) in [
        (again, &["secret", "Secret"][..], 1, "keyspring: the two passphrases differ"),
        (again, &[""], 1, "keyspring: the passphrase from the terminal is empty"),
        ("open a --out c", &["wrong"], 3, "keyspring: a: the key is wrong, or the header is"),
    ] {
        let (ended, shown) = at_a_terminal(&directory, args, lines);
        assert_eq!(ended, Some(code), "{shown:?}");
        assert!(shown.contains(message), "{message:?} is not in {shown:?}");
    }
    assert!(!directory.path().join("c").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_terminal_no_passphrase_is_asked_for() {
    let directory = prepared();
    let mut command = Command::new("setsid");
    command.args(["--wait", env!("CARGO_BIN_EXE_keyspring"), "seal", "plain"]);
    let output = command.current_dir(directory.path()).stdin(Stdio::null()).output().unwrap();
    let message = "keyspring: cannot ask the terminal for a passphrase; use --key-file or --pass";
    expect(&output, 1, message);
}

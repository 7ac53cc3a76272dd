//! The keys: how many, how long, how written.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;

use crate::{keyspring, keyspring_after, stdout_of};

/// A key longer than what is minted at a time, and no multiple of 3.
const LONG: usize = 1_000_001;

/// The bytes of one line of lower-case hex.
fn unhex(line: &str) -> Vec<u8> {
    assert_eq!(line.len() % 2, 0, "{line}");
    assert!(line.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{line}");
    (0..line.len()).step_by(2).map(|i| u8::from_str_radix(&line[i..i + 2], 16).unwrap()).collect()
}

fn lines_of(args: &str) -> Vec<String> {
    let text = String::from_utf8(stdout_of(args)).unwrap();
    assert!(text.ends_with('\n'), "{args}: the last line has no end");
    text.lines().map(String::from).collect()
}

#[test]
fn a_key_is_256_bytes_of_hex_if_nothing_else_is_said() {
    let lines = lines_of("keygen");
    assert_eq!(lines.len(), 1);
    assert_eq!(unhex(&lines[0]).len(), 256);
}

#[test]
fn every_key_has_its_line_and_no_two_are_equal() {
    for (count, size) in [(1, 16), (3, 256), (767, 256), (768, 256), (769, 256), (2000, 255)] {
        let args = format!("keygen -n {count} --size {size} --format hex");
        let keys: HashSet<_> = lines_of(&args).iter().map(|line| unhex(line)).collect();
        assert_eq!(keys.len(), count, "{args}");
        assert!(keys.iter().all(|key| key.len() == size), "{args}");
    }
}

#[test]
fn keys_of_one_byte_take_every_value() {
    let lines = lines_of("keygen -n 200000 --size 1");
    assert_eq!(lines.len(), 200_000);
    let values: HashSet<_> = lines.iter().map(|line| unhex(line)).collect();
    assert_eq!(values.len(), 256);
}

#[test]
fn two_runs_share_no_key() {
    assert_ne!(stdout_of("keygen"), stdout_of("keygen"));
}

#[test]
fn raw_keys_lie_back_to_back() {
    for (count, size) in [(1, 1), (3, 256), (769, 256), (2, LONG)] {
        let args = format!("keygen -n {count} --size {size} --format raw");
        assert_eq!(stdout_of(&args).len(), count * size, "{args}");
    }
}

#[test]
fn base64_pads_the_end_of_a_key_and_nothing_else() {
    for (size, pads) in [(1, 2), (2, 1), (3, 0), (256, 2), (196_608, 0), (196_609, 2), (LONG, 1)] {
        for line in lines_of(&format!("keygen -n 3 --size {size} --format base64")) {
            assert_eq!(line.len(), size.div_ceil(3) * 4, "size {size}");
            let digits = line.trim_end_matches('=');
            assert_eq!(line.len() - digits.len(), pads, "size {size}");
            let digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
            assert!(digits.bytes().all(digit), "size {size}");
        }
    }
}

#[test]
fn a_long_key_is_one_line_and_never_repeats() {
    for line in lines_of(&format!("keygen -n 2 --size {LONG}")) {
        let key = unhex(&line);
        assert_eq!(key.len(), LONG);
        // Two equal stretches of 16 bytes come by chance once in 2^96 or so.
        let stretches: HashSet<_> = key.chunks_exact(16).collect();
        assert_eq!(stretches.len(), LONG / 16);
    }
}

#[test]
fn memory_does_not_grow_with_the_size_of_a_key() {
    // 40 MB of address space, and a key of 60 MB.
    for format in ["raw", "hex", "base64"] {
        let args = format!("keygen --size 60000000 --format {format} --out -");
        let mut command = keyspring_after("ulimit -v 40000", Path::new("."), &args);
        let status = command.stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{format}: {status}");
    }
}

#[test]
fn rand_writes_as_many_bytes_as_asked_for() {
    for len in [1, 64, 65, 196_607, 196_608, 196_609, LONG] {
        assert_eq!(stdout_of(&format!("rand {len}")).len(), len, "{len} bytes");
    }
    assert_eq!(unhex(&lines_of("rand 24 --format hex")[0]).len(), 24);
    assert_eq!(lines_of("rand 24 --format base64")[0].len(), 32);
}

#[test]
fn a_dash_is_standard_output() {
    let output = keyspring(Path::new("."), "rand 10 --out -").output().unwrap();
    assert_eq!(output.stdout.len(), 10);
    assert!(!Path::new("-").exists());
}

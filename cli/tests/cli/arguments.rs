//! What may not be said, and what is answered.

use std::path::Path;

use crate::{expect, keyspring, stdout_of};

#[test]
fn a_wrong_argument_is_named_and_ends_with_2() {
    for (args, message) in [
        ("", "Usage: keyspring <COMMAND>"),
        ("frobnicate", "unrecognized subcommand 'frobnicate'"),
        ("keygen keys.bin", "unexpected argument 'keys.bin'"),
        ("keygen -n", "a value is required for '--count <COUNT>'"),
        ("keygen -n 0", "0 is not in 1..=4294967296"),
        ("keygen -n 4294967297", "4294967297 is not in 1..=4294967296"),
        ("keygen -n 1e6", "invalid value '1e6' for '--count <COUNT>'"),
        ("keygen -n=-1", "invalid value '-1' for '--count <COUNT>'"),
        ("keygen -n -1", "unexpected argument '-1'"),
        ("keygen -n 1 -n 2", "cannot be used multiple times"),
        ("keygen --size 0", "0 is not in 1..=1073741824"),
        ("keygen --size 1073741825", "1073741825 is not in 1..=1073741824"),
        ("keygen --size 18446744073709551615", "18446744073709551615 is not in 1..=1073741824"),
        ("keygen --size 18446744073709551616", "invalid value '18446744073709551616'"),
        ("keygen --size 16K", "invalid value '16K' for '--size <BYTES>'"),
        ("keygen --format octal", "[possible values: raw, hex, base64]"),
        ("keygen --out=", "a value is required for '--out <FILE>'"),
        ("rand 0", "0 is not in 1..=9223372036854775807"),
        ("rand -5", "unexpected argument '-5'"),
        ("rand ten", "invalid value 'ten' for '[BYTES]'"),
        ("rand 9223372036854775808", "9223372036854775808 is not in 1..=9223372036854775807"),
        ("rand 18446744073709551615", "18446744073709551615 is not in 1..=9223372036854775807"),
        ("rand 1 2", "unexpected argument '2'"),
        ("rand --out random.bin", "keyspring: a file can't hold an endless stream; say how many"),
        ("seal a b", "unexpected argument 'b'"),
        ("seal --argon2-memory 18", "18 is not in 19..=1024"),
        ("seal --argon2-memory 1025", "1025 is not in 19..=1024"),
        ("seal --argon2-passes 1", "1 is not in 2..=10"),
        ("seal --argon2-passes 11", "11 is not in 2..=10"),
        ("seal --key-file a --passphrase-file b", "cannot be used with"),
        ("seal --key-file a --argon2-passes 2", "cannot be used with"),
        ("open --argon2-passes 2", "unexpected argument '--argon2-passes'"),
        ("speed --force", "required arguments were not provided"),
        ("completions tcsh", "[possible values: bash, elvish, fish, powershell, zsh]"),
        ("man frobnicate", "keyspring: there is no command of that name"),
        ("info --force", "unexpected argument '--force'"),
        ("selftest all", "unexpected argument 'all'"),
    ] {
        let output = keyspring(Path::new("."), args).output().unwrap();
        assert!(output.stdout.is_empty(), "{args}");
        expect(&output, 2, message);
    }
    assert!(!Path::new("random.bin").exists());
}

#[test]
fn help_names_every_limit_and_exit_code() {
    let help = |args| String::from_utf8(stdout_of(args)).unwrap();
    for (args, limit) in [
        ("--help", "Exit codes: 0, for keygen and rand also if the reader closes the pipe; 1 if"),
        ("--help", "3 if the key is wrong or the sealed file is not as it was sealed"),
        ("keygen --help", "1 to 2^32"),
        ("keygen --help", "1 to 2^30"),
        ("keygen --help", "[default: 256]"),
        ("rand --help", "1 to 2^63 - 1"),
        ("seal --help", "19 to 1024"),
        ("seal --help", "2 to 10"),
        ("seal --help", "A sealed file is a header of 91 bytes and chunks."),
    ] {
        assert!(help(args).contains(limit), "{limit} is not in {}", help(args));
    }
}

#[test]
fn the_version_is_the_packages() {
    let version = concat!("keyspring ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(stdout_of("--version")).unwrap(), version);
}

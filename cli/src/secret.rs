//! Keys and passphrases: from files, from the terminal.

use core::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use keyspring::crng::SessionKey;
use keyspring_cli::stream::Secret;
use zeroize::Zeroizing;

use crate::args::Source;
use crate::failure::Failure;

/// The longest passphrase, and the most that is read of a file with a key.
const LONGEST: usize = 1024;

impl Source {
    /// What the user gave as a secret on the command line.
    pub(crate) fn secret(&self) -> Result<Option<Secret>, Failure> {
        match (&self.key_file, &self.passphrase_file) {
            (Some(path), _) => key(path).map(Some),
            (None, Some(path)) => passphrase(path).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Asks the terminal for a new passphrase, twice.
pub(crate) fn new_passphrase() -> Result<Secret, Failure> {
    let passphrase = ask("Passphrase: ")?;
    if *passphrase != *ask("The same again: ")? {
        return Err(Failure::Failed("the two passphrases differ".into()));
    }
    Ok(Secret::Passphrase(passphrase))
}

/// Asks the terminal for the passphrase of a file.
pub(crate) fn known_passphrase() -> Result<Secret, Failure> {
    ask("Passphrase: ").map(Secret::Passphrase)
}

fn ask(prompt: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let answer = rpassword::prompt_password(prompt).map_err(|error| {
        let message = "cannot ask the terminal for a passphrase; use --key-file or \
                       --passphrase-file";
        Failure::Failed(format!("{message}: {error}"))
    })?;
    check(Zeroizing::new(answer.into_bytes()), "the terminal")
}

fn passphrase(path: &Path) -> Result<Secret, Failure> {
    let mut line = read(path)?;
    let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
    line.truncate(end);
    check(line, path.display()).map(Secret::Passphrase)
}

/// Refuses what can't be meant as a passphrase.
fn check(
    passphrase: Zeroizing<Vec<u8>>,
    from: impl Display,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    match passphrase.len() {
        0 => Err(Failure::Failed(format!("the passphrase from {from} is empty"))),
        1..=LONGEST => Ok(passphrase),
        _ => Err(Failure::Failed(format!("the passphrase from {from} is over {LONGEST} bytes"))),
    }
}

fn key(path: &Path) -> Result<Secret, Failure> {
    let bytes = read(path)?;
    let mut key = Zeroizing::new([0; 32]);
    // An end of line is no part of the digits.
    let text = bytes.trim_ascii_end();
    let is_key = match (bytes.len(), text.len()) {
        (32, _) => {
            key.copy_from_slice(&bytes);
            true
        }
        (_, 64) => base16ct::mixed::decode(text, &mut *key).is_ok(),
        _ => false,
    };
    if is_key {
        return Ok(Secret::Key(SessionKey::from(*key)));
    }
    let path = path.display();
    Err(Failure::Failed(format!(
        "{path} is no key: it must hold 32 bytes or 64 hex digits, as by keyspring keygen --size 32"
    )))
}

/// Reads a small file, and no more than shows that it is too large.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // Room for all of it, lest growing leave copies behind.
    let mut bytes = Zeroizing::new(vec![0; LONGEST + 2]);
    let len = File::open(path)
        .and_then(|mut file| fill(&mut file, &mut bytes))
        .map_err(|error| not_read(path, error))?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads until the buffer is full or the input ends, and says how much that is.
pub(crate) fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match input.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

pub(crate) fn not_read(path: &Path, error: io::Error) -> Failure {
    Failure::Failed(format!("cannot read {}: {error}", path.display()))
}

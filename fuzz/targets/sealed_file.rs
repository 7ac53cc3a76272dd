//! The format of sealed files: nothing that was not sealed is opened, and nothing panics.

#![no_main]

use arbitrary::Arbitrary;
use keyspring::crng::SessionKey;
use keyspring_cli::stream::{CHUNK, Cost, Header, Secret, TAG};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    key: [u8; 32],
    len: u32,
    /// Bytes of the sealed file to change, with what.
    changes: Vec<(u32, u8)>,
    cut: Option<u32>,
    anything: &'a [u8],
}

/// The plaintext of a whole file, if it opens.
fn open(secret: &Secret, file: &[u8]) -> Option<Vec<u8>> {
    let header = Header::parse(file).ok()?;
    let mut stream = header.open(secret).ok()?;
    let mut plaintext = Vec::new();
    let mut rest = &file[header.as_bytes().len()..];
    loop {
        let (chunk, others) = rest.split_at(rest.len().min(CHUNK + TAG));
        let mut chunk = chunk.to_vec();
        let last = chunk.len() < CHUNK + TAG;
        stream.open(&mut chunk).ok()?;
        plaintext.extend_from_slice(&chunk);
        if last {
            return Some(plaintext);
        }
        rest = others;
    }
}

fuzz_target!(|input: Input<'_>| {
    let secret = Secret::Key(SessionKey::from(input.key));
    // A passphrase would cost seconds; the parser alone sees those headers.
    let _ = Header::parse(input.anything);
    assert_eq!(open(&secret, input.anything), None, "nobody sealed this");

    let plaintext = vec![0x5a; input.len as usize % (2 * CHUNK + 100)];
    let (header, mut stream) = Header::seal(&secret, Cost::DEFAULT).expect("there is entropy");
    let mut file = header.as_bytes().to_vec();
    for start in (0..=plaintext.len()).step_by(CHUNK) {
        let mut chunk = plaintext[start..plaintext.len().min(start + CHUNK)].to_vec();
        stream.seal(&mut chunk).expect("it is short");
        file.extend_from_slice(&chunk);
    }
    assert_eq!(open(&secret, &file).as_deref(), Some(&*plaintext));

    let mut changed = file.clone();
    for (at, xor) in &input.changes {
        let at = *at as usize % changed.len();
        changed[at] ^= xor;
    }
    if let Some(cut) = input.cut {
        changed.truncate(cut as usize % (changed.len() + 1));
    }
    if changed != file {
        assert_eq!(open(&secret, &changed), None, "a changed file was opened");
    }
});

//! Every backend gives the keystream of the scalar one, from any position, in any pieces.

#![no_main]

use arbitrary::Arbitrary;
use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20};
use keyspring_fuzz::{on_every_backend, painted, scalar};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    cipher: Cipher,
    key: [u8; 32],
    nonce: [u8; 24],
    position: Position,
    pieces: Vec<u16>,
    write: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Cipher {
    ChaCha20,
    ChaCha12,
    ChaCha8,
    XChaCha20,
    Legacy,
}

#[derive(Arbitrary, Debug)]
enum Position {
    Low(u16),
    /// Before a counter's 32 low bits wrap.
    Wrap(u16),
    Any(u64),
}

/// The bytes of all pieces, or that the counter was exhausted.
fn run(input: &Input, pieces: &[usize]) -> Result<Vec<u8>, usize> {
    let position = match input.position {
        Position::Low(byte) => u64::from(byte),
        Position::Wrap(before) => (1 << 38) - u64::from(before),
        Position::Any(byte) => byte,
    };
    macro_rules! run {
        ($cipher:ident) => {{
            let nonce = input.nonce.first_chunk().expect("24 bytes");
            let mut cipher = $cipher::from_key(&input.key, nonce);
            cipher.seek_to(position);
            let mut output = painted(input.key[0], pieces.iter().sum());
            let mut at = 0;
            for piece in pieces {
                let piece = &mut output[at..at + piece];
                if input.write {
                    piece.fill(0);
                }
                cipher.try_apply_keystream(piece).map_err(|_| at)?;
                at += piece.len();
                assert_eq!(cipher.position(), position + at as u64);
            }
            Ok(output)
        }};
    }
    match input.cipher {
        Cipher::ChaCha20 => run!(ChaCha20),
        Cipher::ChaCha12 => run!(ChaCha12),
        Cipher::ChaCha8 => run!(ChaCha8),
        Cipher::XChaCha20 => run!(XChaCha20),
        Cipher::Legacy => run!(ChaCha20Legacy),
    }
}

fuzz_target!(|input: Input| {
    let pieces: Vec<_> = input.pieces.iter().take(8).map(|len| usize::from(*len) % 9000).collect();
    let expected = scalar(|| run(&input, &pieces));
    on_every_backend(|backend| assert_eq!(run(&input, &pieces), expected, "{backend}"));
    // Past the end, nothing can be had, not even no bytes; no pieces ask for less.
    if let Ok(expected) = expected
        && !pieces.is_empty()
    {
        let whole = [pieces.iter().sum()];
        on_every_backend(|backend| {
            assert_eq!(run(&input, &whole).as_ref(), Ok(&expected), "{backend}, in one");
        });
    }
});

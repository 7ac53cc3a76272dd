//! Seals at an easy pace until Ctrl-C, which leaves the message as it was.

use std::time::Duration;

use keyspring::aead::{ChaCha20Poly1305, Step};

/// At a section of 4 KiB a millisecond, a quarter of a minute.
const LEN: usize = 64 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cipher = ChaCha20Poly1305::from_key(keyspring::crng::key().as_bytes());
    let message: Vec<u8> = (0..LEN).map(|i| (i % 251) as u8).collect();
    let mut in_out = message.clone();
    let mut done = 0;

    let interrupted = tokio::signal::ctrl_c();
    println!("cancel: sealing; Ctrl-C to stop");
    // What loses the race is dropped.
    tokio::select! {
        tag = seal(&cipher, &mut in_out, &mut done) => {
            cipher.open_in_place(&[1; 12], b"", &mut in_out, &tag?)?;
            println!("cancel: sealed, and opened again");
        }
        interrupted = interrupted => {
            interrupted?;
            println!("cancel: stopped after {done} of {LEN} bytes; the message is as it was");
        }
    }
    assert!(in_out == message);
    Ok(())
}

async fn seal(
    cipher: &ChaCha20Poly1305,
    in_out: &mut [u8],
    done: &mut usize,
) -> Result<[u8; 16], keyspring::aead::Error> {
    let mut sealing = cipher.sealing(&[1; 12], b"", in_out)?;
    loop {
        match sealing.step() {
            Step::More(bytes) => *done = bytes,
            Step::Finished(tag) => return Ok(tag),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

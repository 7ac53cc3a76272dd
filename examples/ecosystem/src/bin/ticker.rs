//! Seals a gibibyte on a runtime with one thread, where a ticker wants to run every millisecond: in
//! one call nothing else runs until the end; one section at a time, the ticker keeps its beat.

use std::time::{Duration, Instant};

use keyspring::aead::{ChaCha20Poly1305, Step};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::interval;

const LEN: usize = 1 << 30;
const BEAT: Duration = Duration::from_millis(1);
const NONCE: [u8; 12] = [1; 12];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), keyspring::aead::Error> {
    let cipher = ChaCha20Poly1305::from_key(keyspring::crng::key().as_bytes());
    let mut message = vec![5; LEN];

    let ticker = start().await;
    let tag = cipher.seal_in_place(&NONCE, b"", &mut message)?;
    let blocked = late(ticker, "in one call").await;

    cipher.open_in_place(&NONCE, b"", &mut message, &tag)?;

    let ticker = start().await;
    let again = seal(&cipher, &mut message).await?;
    let stepwise = late(ticker, "one section at a time").await;

    assert_eq!(again, tag);
    // Another program may hold up one beat, but not every other one.
    let half = stepwise.len() / 2;
    assert!(
        stepwise[half] < 2 * BEAT,
        "the middle one of the beats is late by {:?}",
        stepwise[half]
    );
    assert!(stepwise.last() < blocked.last(), "{:?}, {:?}", stepwise.last(), blocked.last());
    Ok(())
}

/// Lets others run between two sections. Whoever drops it early finds the message as it was.
async fn seal(
    cipher: &ChaCha20Poly1305,
    message: &mut [u8],
) -> Result<[u8; 16], keyspring::aead::Error> {
    let mut sealing = cipher.sealing(&NONCE, b"", message)?;
    loop {
        match sealing.step() {
            Step::More(_) => yield_now().await,
            Step::Finished(tag) => return Ok(tag),
        }
    }
}

/// A task that notes how late it is, at every beat.
struct Ticker {
    task: JoinHandle<()>,
    late: tokio::sync::mpsc::UnboundedReceiver<Duration>,
    since: Instant,
}

async fn start() -> Ticker {
    let (send, late) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        let mut beats = interval(BEAT);
        loop {
            let due = beats.tick().await;
            let _ = send.send(due.elapsed());
        }
    });
    // The first beat comes at once.
    yield_now().await;
    Ticker { task, late, since: Instant::now() }
}

/// Stops a ticker after its next beats; how late they were, from the least to the most.
async fn late(mut ticker: Ticker, how: &str) -> Vec<Duration> {
    let took = ticker.since.elapsed();
    tokio::time::sleep(2 * BEAT).await;
    ticker.task.abort();
    let mut late = Vec::new();
    while let Some(by) = ticker.late.recv().await {
        late.push(by);
    }
    late.sort();
    let [middle, worst] = [late[late.len() / 2], late[late.len() - 1]];
    println!(
        "ticker: {} MiB {how} in {took:.0?}: of {} beats the middle one is late by {middle:.1?}, the \
         worst by {worst:.1?}",
        LEN >> 20,
        late.len()
    );
    late
}

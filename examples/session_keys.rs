//! Mints a session key and gives each direction of a connection keys of its own.
//!
//! `cargo run --example session_keys`

use keyspring::aead::{Error, NonceSequence, Opener, Sealer};
use keyspring::crng::{self, SessionKey};

fn main() -> Result<(), Error> {
    // 256 random bytes, erased from the generator before the call returns.
    let session = crng::session_key();

    // Eight keys of 32 bytes; the whole is wiped as it is taken apart. Two are needed here.
    let mut keys = session.split::<32>();
    let to_server: SessionKey<32> = keys.next().expect("the first of eight");
    let to_client: SessionKey<32> = keys.next().expect("the second of eight");
    assert_ne!(to_server, to_client); // in constant time

    let sequence = NonceSequence::CounterLittleEndian;
    let mut client = Sealer::new(to_server.as_bytes(), sequence);
    let mut server = Opener::new(to_server.as_bytes(), sequence).reject_replays();

    let mut message = *b"GET /";
    let (number, tag) = client.seal_next(b"", &mut message)?;
    let mut again = message;
    server.open(number, b"", &mut message, &tag)?;
    assert_eq!(&message, b"GET /");
    server.open(number, b"", &mut again, &tag).expect_err("it has been opened before");

    // Many at once, each in the place where it stays.
    let mut keys = [const { SessionKey::<32>::zeroed() }; 100];
    crng::fill_keys(&mut keys);
    println!("{} keys: {:?}, ...", keys.len(), keys[0]);
    Ok(())
}

//! Noise by `snow`, with keyspring's AEAD and random bytes at one end and snow's own at the other.

use keyspring::aead::{ChaCha20Poly1305, NonceSequence};
use keyspring::crng;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, FallbackResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error, TransportState};

/// What keyspring has: the rest is left to the resolver behind this one.
struct Keyspring;

impl CryptoResolver for Keyspring {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Crng))
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        match choice {
            // Under a key of zeros until snow sets one.
            CipherChoice::ChaChaPoly => Some(Box::new(ChaChaPoly::under(&[0; 32]))),
            _ => None,
        }
    }

    fn resolve_dh(&self, _: &DHChoice) -> Option<Box<dyn Dh>> {
        None
    }

    fn resolve_hash(&self, _: &HashChoice) -> Option<Box<dyn Hash>> {
        None
    }
}

struct Crng;

impl Random for Crng {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        crng::try_fill(dest).map_err(|_| Error::Rng)
    }
}

struct ChaChaPoly(ChaCha20Poly1305);

impl ChaChaPoly {
    fn under(key: &[u8; 32]) -> Self {
        Self(ChaCha20Poly1305::from_key(key))
    }
}

/// snow counts the nonces: four zero bytes and the number.
const NONCES: NonceSequence = NonceSequence::CounterLittleEndian;

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; 32]) {
        *self = Self::under(key);
    }

    fn encrypt(&self, nonce: u64, authtext: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        let out = &mut out[..plaintext.len() + ChaCha20Poly1305::TAG_LEN];
        self.0.seal_into(&NONCES.nonce(nonce), authtext, plaintext, out).expect("at most 64 KiB");
        out.len()
    }

    fn decrypt(
        &self,
        nonce: u64,
        authtext: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let len = ciphertext.len().checked_sub(ChaCha20Poly1305::TAG_LEN).ok_or(Error::Decrypt)?;
        let out = out.get_mut(..len).ok_or(Error::Decrypt)?;
        self.0
            .open_into(&NONCES.nonce(nonce), authtext, ciphertext, out)
            .map_err(|_| Error::Decrypt)?;
        Ok(len)
    }
}

/// A handshake in which nobody is known beforehand, and the two ends after it.
fn connect(initiator: Builder<'_>, responder: Builder<'_>) -> Result<[TransportState; 2], Error> {
    let keys = initiator.generate_keypair()?;
    let mut initiator = initiator.local_private_key(&keys.private)?.build_initiator()?;
    let keys = responder.generate_keypair()?;
    let mut responder = responder.local_private_key(&keys.private)?.build_responder()?;
    let (mut wire, mut payload) = ([0; 1024], [0; 1024]);
    while !initiator.is_handshake_finished() {
        let len = initiator.write_message(b"", &mut wire)?;
        responder.read_message(&wire[..len], &mut payload)?;
        if !responder.is_handshake_finished() {
            let len = responder.write_message(b"", &mut wire)?;
            initiator.read_message(&wire[..len], &mut payload)?;
        }
    }
    Ok([initiator.into_transport_mode()?, responder.into_transport_mode()?])
}

fn main() -> Result<(), Error> {
    let params = || "Noise_XX_25519_ChaChaPoly_BLAKE2s".parse().expect("snow knows it");
    let resolver = FallbackResolver::new(Box::new(Keyspring), Box::new(DefaultResolver));
    let ours = Builder::with_resolver(params(), Box::new(resolver));
    let [mut ours, mut theirs] = connect(ours, Builder::new(params()))?;

    let (mut wire, mut payload) = (vec![0; 65535], vec![0; 65535]);
    let message: Vec<u8> = (0..60_000).map(|i| (i % 251) as u8).collect();
    for len in [0, 1, 15, 16, 17, 64, 1420, 60_000] {
        let sealed = ours.write_message(&message[..len], &mut wire)?;
        let opened = theirs.read_message(&wire[..sealed], &mut payload)?;
        assert_eq!(payload[..opened], message[..len]);
        let sealed = theirs.write_message(&message[..len], &mut wire)?;
        let opened = ours.read_message(&wire[..sealed], &mut payload)?;
        assert_eq!(payload[..opened], message[..len]);
        ours.rekey_outgoing();
        theirs.rekey_incoming();
    }
    let sealed = theirs.write_message(b"spoilt on the way", &mut wire)?;
    wire[sealed - 1] ^= 1;
    assert_eq!(ours.read_message(&wire[..sealed], &mut payload), Err(Error::Decrypt));
    println!("noise: both ends understand each other");
    Ok(())
}

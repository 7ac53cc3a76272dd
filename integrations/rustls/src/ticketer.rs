//! Session tickets under XChaCha20-Poly1305.

use std::sync::Arc;

use keyspring::aead::XChaCha20Poly1305;
use keyspring::crng;
use rustls::Error;
use rustls::crypto::GetRandomFailed;
use rustls::server::ProducesTickets;
use rustls::ticketer::TicketRotator;

/// How long a ticket opens, in seconds: under the key it was sealed with and the next one.
const LIFETIME: u32 = 12 * 60 * 60;

/// The bytes of a key's name.
const NAME_LEN: usize = 16;

/// Makes what seals session tickets, for `ServerConfig::ticketer`: XChaCha20-Poly1305 under a
/// random key and random nonces, with a fresh key every 6 hours and tickets that open for 12.
///
/// # Errors
///
/// [`Error::FailedToGetRandomBytes`] if the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// let ticketer = rustls_keyspring::ticketer()?;
/// let ticket = ticketer.encrypt(b"session").expect("there is entropy");
/// assert_eq!(ticketer.decrypt(&ticket).as_deref(), Some(b"session".as_slice()));
/// # Ok::<(), rustls::Error>(())
/// ```
pub fn ticketer() -> Result<Arc<dyn ProducesTickets>, Error> {
    Ok(Arc::new(TicketRotator::new(LIFETIME / 2, || Ok(Box::new(Tickets::new()?)))?))
}

/// Tickets under one key: its name, then what [`XChaCha20Poly1305::seal_with_random_nonce`] gives,
/// with the name as AAD.
#[derive(Debug)]
struct Tickets {
    name: [u8; NAME_LEN],
    cipher: XChaCha20Poly1305,
}

impl Tickets {
    fn new() -> Result<Self, GetRandomFailed> {
        let key = crng::try_key().map_err(|_| GetRandomFailed)?;
        let mut name = [0; NAME_LEN];
        crng::try_fill(&mut name).map_err(|_| GetRandomFailed)?;
        Ok(Self { name, cipher: XChaCha20Poly1305::from_key(key.as_bytes()) })
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let sealed = self.cipher.seal_with_random_nonce(&self.name, plain).ok()?;
        Some([&self.name, sealed.as_slice()].concat())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let sealed = ticket.strip_prefix(&self.name)?;
        self.cipher.open_with_nonce(&self.name, sealed).ok()
    }
}

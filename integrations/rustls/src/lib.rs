//! A [`CryptoProvider`] for rustls whose ChaCha20-Poly1305 is keyspring's: TLS 1.3, TLS 1.2 and
//! QUIC. Random bytes and the keys of session tickets come from [`keyspring::crng`]; key exchange,
//! signatures, hashes and AES-GCM stay ring's, by rustls' own provider.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::{ClientConfig, RootCertStore};
//!
//! let config = ClientConfig::builder_with_provider(Arc::new(rustls_keyspring::provider()))
//!     .with_safe_default_protocol_versions()?
//!     .with_root_certificates(RootCertStore::empty())
//!     .with_no_client_auth();
//! # let _ = config;
//! # Ok::<(), rustls::Error>(())
//! ```
//!
//! Records and packets are sealed and opened in place, by
//! [`ChaCha20Poly1305::seal_in_place`](keyspring::aead::ChaCha20Poly1305::seal_in_place) and its
//! counterpart: rustls numbers its records itself and hands them over one at a time, so there is
//! nothing for a counter of our own or a batch to do.

mod quic;
mod record;
mod ticketer;
mod traffic;

use keyspring::crng;
use rustls::crypto::ring::{self, cipher_suite};
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
use rustls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

pub use self::ticketer::ticketer;

/// The provider: [`CIPHER_SUITES`] first, then ring's suites of AES-GCM, of which QUIC needs one
/// for its first packets.
///
/// To speak nothing but ChaCha20-Poly1305:
///
/// ```
/// use rustls::crypto::CryptoProvider;
///
/// let provider = CryptoProvider {
///     cipher_suites: rustls_keyspring::CIPHER_SUITES.to_vec(),
///     ..rustls_keyspring::provider()
/// };
/// # let _ = provider;
/// ```
#[must_use]
pub fn provider() -> CryptoProvider {
    let base = ring::default_provider();
    let others = base
        .cipher_suites
        .iter()
        .filter(|theirs| CIPHER_SUITES.iter().all(|ours| ours.suite() != theirs.suite()));
    CryptoProvider {
        cipher_suites: CIPHER_SUITES.iter().chain(others).copied().collect(),
        secure_random: &Random,
        ..base
    }
}

/// The suites that run on keyspring.
pub static CIPHER_SUITES: &[SupportedCipherSuite] = &[
    SupportedCipherSuite::Tls13(&TLS13_CHACHA20_POLY1305_SHA256),
    SupportedCipherSuite::Tls12(&TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    SupportedCipherSuite::Tls12(&TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// TLS 1.3 and QUIC, with ring's SHA-256.
static TLS13_CHACHA20_POLY1305_SHA256: Tls13CipherSuite =
    match cipher_suite::TLS13_CHACHA20_POLY1305_SHA256 {
        SupportedCipherSuite::Tls13(ring) => Tls13CipherSuite {
            common: common(&ring.common),
            hkdf_provider: ring.hkdf_provider,
            aead_alg: &record::Tls13,
            quic: Some(&quic::Quic),
        },
        SupportedCipherSuite::Tls12(_) => panic!("a suite of TLS 1.3"),
    };

static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: Tls12CipherSuite =
    tls12(cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256);

static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: Tls12CipherSuite =
    tls12(cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256);

/// A suite of TLS 1.2 with the AEAD replaced.
const fn tls12(ring: SupportedCipherSuite) -> Tls12CipherSuite {
    match ring {
        SupportedCipherSuite::Tls12(ring) => Tls12CipherSuite {
            common: common(&ring.common),
            prf_provider: ring.prf_provider,
            kx: ring.kx,
            sign: ring.sign,
            aead_alg: &record::Tls12,
        },
        SupportedCipherSuite::Tls13(_) => panic!("a suite of TLS 1.2"),
    }
}

/// What all suites have, taken over; it is no `Clone`.
const fn common(ring: &CipherSuiteCommon) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite: ring.suite,
        hash_provider: ring.hash_provider,
        confidentiality_limit: ring.confidentiality_limit,
    }
}

/// Random bytes from [`keyspring::crng`].
#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        crng::try_fill(buf).map_err(|_| GetRandomFailed)
    }
}

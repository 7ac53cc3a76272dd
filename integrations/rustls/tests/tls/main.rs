//! The provider against openssl's programs, rustls on ring, and quinn.

mod identity;
mod memory;
mod openssl;
mod peers;
mod quic;
mod tickets;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, ServerConfig, SupportedCipherSuite};

use self::identity::Identity;

/// A suite, and how openssl calls it.
struct Suite {
    ours: SupportedCipherSuite,
    ring: SupportedCipherSuite,
    openssl: &'static str,
    identity: &'static Identity,
}

/// All that run on keyspring.
fn suites() -> [Suite; 3] {
    let [tls13, ecdsa, rsa] = rustls_keyspring::CIPHER_SUITES else { panic!("three suites") };
    let (p256, rsa_2048) = (Identity::p256(), Identity::rsa_2048());
    [
        Suite {
            ours: *tls13,
            ring: ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
            openssl: "TLS_CHACHA20_POLY1305_SHA256",
            identity: p256,
        },
        Suite {
            ours: *ecdsa,
            ring: ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            openssl: "ECDHE-ECDSA-CHACHA20-POLY1305",
            identity: p256,
        },
        Suite {
            ours: *rsa,
            ring: ring::cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            openssl: "ECDHE-RSA-CHACHA20-POLY1305",
            identity: rsa_2048,
        },
    ]
}

/// keyspring's provider, for one suite alone.
fn ours(suite: &Suite) -> CryptoProvider {
    CryptoProvider { cipher_suites: vec![suite.ours], ..rustls_keyspring::provider() }
}

/// ring's provider, for the same suite.
fn ring(suite: &Suite) -> CryptoProvider {
    CryptoProvider { cipher_suites: vec![suite.ring], ..ring::default_provider() }
}

fn client(provider: CryptoProvider, server: &Identity) -> ClientConfig {
    let versions = [provider.cipher_suites[0].version()];
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions)
        .expect("the suite is of this version")
        .with_root_certificates(server.roots())
        .with_no_client_auth()
}

fn server(provider: CryptoProvider, identity: &Identity) -> ServerConfig {
    let versions = [provider.cipher_suites[0].version()];
    ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&versions)
        .expect("the suite is of this version")
        .with_no_client_auth()
        .with_single_cert(identity.chain(), identity.key())
        .expect("the key is the certificate's")
}

/// Bytes with period 251, from an offset on. Each has its highest bit set, so that none is one of
/// the letters that openssl's programs take for a command.
fn painted(offset: usize, len: usize) -> Vec<u8> {
    (offset..offset + len).map(|i| (i % 251) as u8 | 0x80).collect()
}

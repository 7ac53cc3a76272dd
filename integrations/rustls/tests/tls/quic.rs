//! QUIC: the vector of RFC 9001, ring's packets, and transfers by quinn.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls::SupportedCipherSuite;
use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::ring::cipher_suite;
use rustls::quic::Suite;

use crate::{Identity, client, ours, painted, ring, server, suites};

fn quic_of(suite: SupportedCipherSuite) -> Suite {
    suite.tls13().expect("it is of TLS 1.3").quic_suite().expect("it does QUIC")
}

/// The bytes of a number in hexadecimal.
fn hex<const N: usize>(digits: &str) -> [u8; N] {
    core::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..][..2], 16).expect("two digits"))
}

/// RFC 9001, appendix A.5: a packet with a short header.
#[test]
fn the_packet_of_the_rfc() {
    let quic = quic_of(rustls_keyspring::CIPHER_SUITES[0]).quic;
    let key = hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
    let hp = hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
    let iv: [u8; 12] = hex("e0459b3474bdd0e44a41c144");
    let (number, header) = (654_360_564, hex::<4>("4200bff4"));
    let packets = quic.packet_key(AeadKey::from(key), Iv::from(iv));
    let headers = quic.header_protection_key(AeadKey::from(hp));

    let mut payload = vec![0x01];
    let tag = packets.encrypt_in_place(number, &header, &mut payload).expect("it is short");
    payload.extend_from_slice(tag.as_ref());
    let expected: [u8; 17] = hex("655e5cd55c41f69080575d7999c25a5bfb");
    assert_eq!(payload, expected);

    let (mut packet, sample) = (header, &payload[1..17]);
    let (first, packet_number) = packet.split_first_mut().expect("four bytes");
    headers.encrypt_in_place(sample, first, packet_number).expect("a whole sample");
    assert_eq!(packet, hex("4cfe4189"));
    let (first, packet_number) = packet.split_first_mut().expect("four bytes");
    headers.decrypt_in_place(sample, first, packet_number).expect("a whole sample");
    assert_eq!(packet, header);

    let opened = packets.decrypt_in_place(number, &header, &mut payload).expect("it is genuine");
    assert_eq!(opened, [0x01]);
}

/// Every form of header, every length of a packet number, with and without a path.
#[test]
fn packets_and_headers_are_those_of_ring() {
    let [ours, ring] =
        [rustls_keyspring::CIPHER_SUITES[0], cipher_suite::TLS13_CHACHA20_POLY1305_SHA256]
            .map(|suite| quic_of(suite).quic);
    let (key, iv) = ([7; 32], [9; 12]);
    let [our_packets, ring_packets] =
        [ours, ring].map(|quic| quic.packet_key(AeadKey::from(key), Iv::from(iv)));
    let [our_headers, ring_headers] =
        [ours, ring].map(|quic| quic.header_protection_key(AeadKey::from(key)));
    assert_eq!(ours.aead_key_len(), ring.aead_key_len());
    assert_eq!(our_packets.tag_len(), ring_packets.tag_len());
    assert_eq!(our_packets.confidentiality_limit(), ring_packets.confidentiality_limit());
    assert_eq!(our_packets.integrity_limit(), ring_packets.integrity_limit());
    assert_eq!(our_headers.sample_len(), ring_headers.sample_len());

    for (number, len) in (1..200).chain([1200, 1452]).enumerate() {
        let number = number as u64;
        for path in [None, Some(0), Some(0x0aed_0001)] {
            let seal = |packets: &dyn rustls::quic::PacketKey| {
                let mut payload = painted(0, len);
                let tag = match path {
                    None => packets.encrypt_in_place(number, b"header", &mut payload),
                    Some(path) => {
                        packets.encrypt_in_place_for_path(path, number, b"header", &mut payload)
                    }
                };
                payload.extend_from_slice(tag.expect("it is short").as_ref());
                payload
            };
            let mut sealed = seal(&*our_packets);
            assert!(sealed == seal(&*ring_packets), "{len} bytes, path {path:?}");
            let opened = match path {
                None => our_packets.decrypt_in_place(number, b"header", &mut sealed),
                Some(path) => {
                    our_packets.decrypt_in_place_for_path(path, number, b"header", &mut sealed)
                }
            };
            assert!(opened.expect("it is genuine") == painted(0, len));
        }
    }

    for first in 0..=u8::MAX {
        for len in 1..=5 {
            let sample = [first.wrapping_mul(31); 16];
            let [ours, ring] = [&our_headers, &ring_headers].map(|headers| {
                let (mut masked, mut number) = (first, painted(0, len));
                let result = headers.encrypt_in_place(&sample, &mut masked, &mut number).is_ok();
                let mut unmasked = (masked, number.clone());
                let back = headers.decrypt_in_place(&sample, &mut unmasked.0, &mut unmasked.1);
                (result, masked, number, back.is_ok(), unmasked)
            });
            assert_eq!(ours, ring, "first byte {first}, {len} bytes of packet number");
            assert_eq!(ours.0, len <= 4);
        }
    }
    let mut first = 0;
    our_headers.encrypt_in_place(&[0; 15], &mut first, &mut [0; 4]).expect_err("no whole sample");
}

#[test]
fn a_forged_packet_is_refused() {
    let quic = quic_of(rustls_keyspring::CIPHER_SUITES[0]).quic;
    let packets = quic.packet_key(AeadKey::from([7; 32]), Iv::from([9; 12]));
    let mut payload = painted(0, 100);
    let tag = packets.encrypt_in_place(1, b"header", &mut payload).expect("it is short");
    payload.extend_from_slice(tag.as_ref());
    packets.decrypt_in_place(2, b"header", &mut payload.clone()).expect_err("another number");
    packets.decrypt_in_place(1, b"heater", &mut payload.clone()).expect_err("another header");
    packets.decrypt_in_place(1, b"header", &mut payload[..15]).expect_err("no tag");
    packets.decrypt_in_place(1, b"header", &mut payload).expect("it is genuine");
}

/// The bytes of each direction of a transfer.
const LEN: usize = 50_000_000;

/// Sends bytes to a server, which sends them back, over the loopback interface.
async fn transfer(client_side: CryptoProvider, server_side: CryptoProvider) {
    let identity = Identity::p256();
    let initial = || quic_of(cipher_suite::TLS13_AES_128_GCM_SHA256);
    let (client, server) = (client(client_side, identity), server(server_side, identity));
    let client = QuicClientConfig::with_initial(Arc::new(client), initial()).expect("TLS 1.3");
    let server = QuicServerConfig::with_initial(Arc::new(server), initial()).expect("TLS 1.3");

    let anywhere = (Ipv4Addr::LOCALHOST, 0).into();
    let server = Endpoint::server(ServerConfig::with_crypto(Arc::new(server)), anywhere)
        .expect("there is a port");
    let address = server.local_addr().expect("it is bound");
    let echo = tokio::spawn(async move {
        let connection = server.accept().await.expect("one client").await.expect("a handshake");
        let (mut send, mut receive) = connection.accept_bi().await.expect("a stream");
        let message = receive.read_to_end(LEN).await.expect("the whole message");
        send.write_all(&message).await.expect("the client reads");
        send.finish().expect("it is open");
        connection.closed().await;
    });

    let endpoint = Endpoint::client(anywhere).expect("there is a port");
    let config = ClientConfig::new(Arc::new(client));
    let connection = endpoint.connect_with(config, address, "localhost").expect("a name");
    let connection = connection.await.expect("a handshake");
    let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
    let message = painted(0, LEN);
    send.write_all(&message).await.expect("the server reads");
    send.finish().expect("it is open");
    assert!(receive.read_to_end(LEN).await.expect("the whole message") == message);
    connection.close(0_u32.into(), b"");
    echo.await.expect("the server saw no error");
}

#[test]
fn quinn_transfers_both_ways_with_ring_at_the_other_end() {
    let [tls13, ..] = suites();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    for (what, client, server) in [
        ("keyspring to keyspring", ours(&tls13), ours(&tls13)),
        ("keyspring to ring", ours(&tls13), ring(&tls13)),
        ("ring to keyspring", ring(&tls13), ours(&tls13)),
    ] {
        let started = Instant::now();
        runtime.block_on(transfer(client, server));
        let suite = tls13.ours.suite();
        println!("QUIC, {what}: {LEN} bytes and back, {suite:?}, {:.1?}", started.elapsed());
    }
}

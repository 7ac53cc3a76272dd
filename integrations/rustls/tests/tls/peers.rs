//! Against rustls on ring: both ways, and with records that were spoilt on the way.

use std::io::Write;
use std::sync::Arc;

use rustls::crypto::cipher::{AeadKey, InboundOpaqueMessage, OutboundChunks, OutboundPlainMessage};
use rustls::{
    AlertDescription, Connection, ContentType, Error, ProtocolVersion, SupportedCipherSuite,
    Tls12CipherSuite, Tls13CipherSuite,
};

use crate::memory::{connect, deliver, hear, said_by, send};
use crate::{Suite, client, ours, painted, ring, server, suites};

/// A connection of which one end runs on keyspring: that end, and the other on ring.
fn our_end_and_rings(suite: &Suite, we_are_the_client: bool) -> (Connection, Connection) {
    let (client_side, server_side) =
        if we_are_the_client { (ours(suite), ring(suite)) } else { (ring(suite), ours(suite)) };
    let client = Arc::new(client(client_side, suite.identity));
    let server = Arc::new(server(server_side, suite.identity));
    let (client, server) = connect(&client, &server);
    if we_are_the_client { (client, server) } else { (server, client) }
}

#[test]
fn keyspring_and_ring_understand_each_other() {
    for suite in suites() {
        for we_are_the_client in [true, false] {
            let (mut us, mut ring) = our_end_and_rings(&suite, we_are_the_client);
            let negotiated = us.negotiated_cipher_suite().expect("they shook hands");
            assert_eq!(negotiated.suite(), suite.ours.suite());
            for len in (0..300).chain([1 << 14, (1 << 14) + 1, 1_000_000]) {
                let message = painted(0, len);
                assert!(send(&mut us, &mut ring, &message) == message, "{len} bytes");
                assert!(send(&mut ring, &mut us, &message) == message, "{len} bytes back");
            }
        }
    }
}

/// What spoils a record, and the name of it.
type Spoil = (&'static str, fn(&mut Vec<u8>));

const SPOILS: [Spoil; 4] = [
    ("first bit of the ciphertext", |record| record[5] ^= 1),
    ("last bit of the tag", |record| *record.last_mut().expect("it is not empty") ^= 0x80),
    ("a byte less", |record| {
        record.pop();
        record[4] -= 1;
    }),
    ("shorter than a tag", |record| {
        record.truncate(5 + 15);
        record[3..5].copy_from_slice(&15_u16.to_be_bytes());
    }),
];

#[test]
fn a_spoilt_record_ends_the_connection_with_bad_record_mac() {
    for suite in suites() {
        for we_are_the_client in [true, false] {
            for (what, spoil) in SPOILS {
                let (mut us, mut ring) = our_end_and_rings(&suite, we_are_the_client);
                ring.writer().write_all(b"attack at dawn").expect("it fits the buffer");
                let mut record = said_by(&mut ring);
                spoil(&mut record);
                let at = format!("{}, {what}", suite.openssl);
                assert_eq!(hear(&mut us, &record), Err(Error::DecryptError), "{at}");
                let alert = Err(Error::AlertReceived(AlertDescription::BadRecordMac));
                assert_eq!(hear(&mut ring, &said_by(&mut us)), alert, "{at}");
            }
        }
    }
}

#[test]
fn a_record_heard_twice_is_refused() {
    for suite in suites() {
        let (mut us, mut ring) = our_end_and_rings(&suite, true);
        ring.writer().write_all(b"attack at dawn").expect("it fits the buffer");
        let record = said_by(&mut ring);
        hear(&mut us, &record).expect("it is what was said");
        assert_eq!(hear(&mut us, &record), Err(Error::DecryptError), "{}", suite.openssl);
    }
}

#[test]
fn a_record_that_holds_too_much_is_refused() {
    let (key, iv) = (|| AeadKey::from([7; 32]), [9; 12]);
    for suite in suites() {
        let (mut encrypter, mut decrypter) = match suite.ours {
            SupportedCipherSuite::Tls13(Tls13CipherSuite { aead_alg, .. }) => {
                (aead_alg.encrypter(key(), iv.into()), aead_alg.decrypter(key(), iv.into()))
            }
            SupportedCipherSuite::Tls12(Tls12CipherSuite { aead_alg, .. }) => {
                (aead_alg.encrypter(key(), &iv, &[]), aead_alg.decrypter(key(), &iv))
            }
        };
        for (len, expected) in
            [(1 << 14, Ok(1 << 14)), ((1 << 14) + 1, Err(Error::PeerSentOversizedRecord))]
        {
            let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
            let message = painted(0, len);
            let payload = OutboundChunks::Single(&message);
            let record = encrypter.encrypt(OutboundPlainMessage { typ, version, payload }, 0);
            let mut record = record.expect("nothing here looks at the length").encode();
            let heard = InboundOpaqueMessage::new(typ, version, &mut record[5..]);
            let opened = decrypter.decrypt(heard, 0).map(|message| message.payload.len());
            assert_eq!(opened, expected, "{}", suite.openssl);
        }
    }
}

#[test]
fn keys_for_a_kernel_are_those_that_ring_gives() {
    use rustls::ConnectionTrafficSecrets::Chacha20Poly1305;

    for suite in suites() {
        let [us, ring] = [ours(&suite), ring(&suite)].map(|provider| {
            let (mut client, mut server) =
                (client(provider.clone(), suite.identity), server(provider, suite.identity));
            (client.enable_secret_extraction, server.enable_secret_extraction) = (true, true);
            connect(&Arc::new(client), &Arc::new(server))
        });
        for (client, server) in [us, ring] {
            let [client, server] = [client, server]
                .map(|end| end.dangerous_extract_secrets().expect("it was asked for"));
            let (Chacha20Poly1305 { key, iv }, Chacha20Poly1305 { key: same_key, iv: same_iv }) =
                (client.tx.1, server.rx.1)
            else {
                panic!("the keys of another cipher");
            };
            assert_eq!((key.as_ref(), iv.as_ref()), (same_key.as_ref(), same_iv.as_ref()));
        }
    }
}

#[test]
fn a_new_traffic_key_is_used_at_once() {
    let [tls13, ..] = suites();
    let (mut us, mut ring) = our_end_and_rings(&tls13, true);
    for _ in 0..3 {
        let Connection::Client(client) = &mut us else { panic!("we are the client") };
        client.refresh_traffic_keys().expect("TLS 1.3 can");
        deliver(&mut us, &mut ring);
        deliver(&mut ring, &mut us);
        let message = painted(0, 40_000);
        assert!(send(&mut us, &mut ring, &message) == message);
        assert!(send(&mut ring, &mut us, &message) == message);
    }
}

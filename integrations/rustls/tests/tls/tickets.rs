//! Session tickets.

use std::sync::Arc;

use rustls::HandshakeKind;
use rustls::server::{NoServerSessionStorage, ProducesTickets};

use crate::memory::connect;
use crate::{Suite, client, ours, server, suites};

/// The kinds of two handshakes of one client, each with a server of its own.
fn kinds(suite: &Suite, tickets: [&Arc<dyn ProducesTickets>; 2]) -> [HandshakeKind; 2] {
    let client = Arc::new(client(ours(suite), suite.identity));
    tickets.map(|ticketer| {
        let mut server = server(ours(suite), suite.identity);
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.ticketer = Arc::clone(ticketer);
        let (client, _) = connect(&client, &Arc::new(server));
        client.handshake_kind().expect("they shook hands")
    })
}

#[test]
fn a_ticket_resumes_at_every_server_that_has_its_key_and_nowhere_else() {
    let [ours, others] = [0; 2].map(|_| rustls_keyspring::ticketer().expect("there is entropy"));
    for suite in suites() {
        let at = suite.openssl;
        assert_eq!(
            kinds(&suite, [&ours, &ours]),
            [HandshakeKind::Full, HandshakeKind::Resumed],
            "{at}"
        );
        assert_eq!(kinds(&suite, [&ours, &others]), [HandshakeKind::Full; 2], "{at}");
    }
}

#[test]
fn every_byte_of_a_ticket_counts() {
    let ticketer = rustls_keyspring::ticketer().expect("there is entropy");
    let mut ticket = ticketer.encrypt(b"session").expect("there is entropy");
    assert_eq!(ticket.len(), 16 + 24 + 7 + 16);
    for i in 0..ticket.len() {
        ticket[i] ^= 1;
        assert_eq!(ticketer.decrypt(&ticket), None, "byte {i}");
        ticket[i] ^= 1;
        assert_eq!(ticketer.decrypt(&ticket[..i]), None, "{i} bytes");
    }
    assert_eq!(ticketer.decrypt(&ticket).as_deref(), Some(b"session".as_slice()));
}

#[test]
fn no_two_tickets_are_the_same() {
    let ticketer = rustls_keyspring::ticketer().expect("there is entropy");
    assert_ne!(ticketer.encrypt(b"session"), ticketer.encrypt(b"session"));
    assert_eq!(ticketer.lifetime(), 12 * 60 * 60);
    assert!(ticketer.enabled());
}

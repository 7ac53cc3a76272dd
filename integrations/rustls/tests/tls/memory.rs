//! Two ends of a connection without a network between.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, Connection, Error, ServerConfig, ServerConnection};

/// A client and a server that have shaken hands, and have no more to say of their own.
pub(crate) fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> (Connection, Connection) {
    let name = "localhost".try_into().expect("it is a name");
    let client = ClientConnection::new(Arc::clone(client), name).expect("the config is whole");
    let server = ServerConnection::new(Arc::clone(server)).expect("the config is whole");
    let (mut client, mut server) = (Connection::from(client), Connection::from(server));
    while deliver(&mut client, &mut server) + deliver(&mut server, &mut client) > 0 {}
    assert!(!client.is_handshaking() && !server.is_handshaking());
    (client, server)
}

/// Takes what one end has to say to the other, and tells how many bytes that was.
pub(crate) fn deliver(from: &mut Connection, to: &mut Connection) -> usize {
    let bytes = said_by(from);
    hear(to, &bytes).expect("the other end made no mistake");
    bytes.len()
}

/// What an end has to say.
pub(crate) fn said_by(end: &mut Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while end.wants_write() {
        end.write_tls(&mut bytes).expect("a Vec takes it");
    }
    bytes
}

/// Lets an end hear bytes.
pub(crate) fn hear(end: &mut Connection, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        end.read_tls(&mut bytes).expect("a slice gives it");
        end.process_new_packets()?;
    }
    Ok(())
}

/// Sends a message through a connection, in pieces, and returns what comes out.
pub(crate) fn send(from: &mut Connection, to: &mut Connection, message: &[u8]) -> Vec<u8> {
    let mut received = vec![0; message.len()];
    for (piece, received) in message.chunks(10_000).zip(received.chunks_mut(10_000)) {
        from.writer().write_all(piece).expect("it fits the buffer");
        deliver(from, to);
        to.reader().read_exact(received).expect("it is all there");
    }
    received
}

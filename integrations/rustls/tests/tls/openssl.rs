//! Against openssl's `s_server` and `s_client`, over a socket in the file system.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, ProtocolVersion, ServerConnection, StreamOwned};

use crate::{Suite, client, ours, painted, server, suites};

/// The bytes of each direction of a transfer.
const LEN: usize = 100_000_000;

/// A running openssl. It ends with the connection, or at the latest when this is dropped.
struct Openssl(Child);

impl Openssl {
    /// Starts a program of it, for one suite.
    fn start(program: &str, suite: &Suite, socket: &Path, args: &[&str]) -> Self {
        let mut command = Command::new("openssl");
        command.args([program, "-unix"]).arg(socket).args(args);
        if suite.ours.version().version == ProtocolVersion::TLSv1_3 {
            command.args(["-tls1_3", "-ciphersuites", suite.openssl]);
        } else {
            command.args(["-tls1_2", "-cipher", suite.openssl]);
        }
        let (stdin, stdout, stderr) = (Stdio::piped(), Stdio::piped(), Stdio::piped());
        let started = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn();
        Self(started.expect("openssl is installed"))
    }

    fn server(suite: &Suite, socket: &Path) -> Self {
        let [certificate, key] = [&suite.identity.certificate, &suite.identity.private_key]
            .map(|file| file.to_str().expect("a plain path"));
        let args = ["-naccept", "1", "-cert", certificate, "-key", key, "-brief"];
        Self::start("s_server", suite, socket, &args)
    }

    fn client(suite: &Suite, socket: &Path, args: &[&str]) -> Self {
        let roots = suite.identity.certificate.to_str().expect("a plain path");
        let check = ["-servername", "localhost", "-CAfile", roots, "-verify_return_error"];
        Self::start("s_client", suite, socket, &[&check, args].concat())
    }

    /// Sends painted bytes to it, which it prints, and lets it send as many back.
    fn exchange(&mut self, connection: &mut (impl Read + Write)) {
        let mut stdin = self.0.stdin.take().expect("it is piped");
        let mut stdout = self.0.stdout.take().expect("it is piped");
        let printed = thread::spawn(move || expect_painted(&mut stdout));
        for offset in (0..LEN).step_by(1 << 16) {
            let piece = painted(offset, (LEN - offset).min(1 << 16));
            connection.write_all(&piece).expect("openssl reads");
        }
        connection.flush().expect("openssl reads");
        printed.join().expect("it printed what was sent");

        let typed = thread::spawn(move || {
            stdin.write_all(&painted(0, LEN)).expect("openssl reads");
            stdin
        });
        expect_painted(connection);
        // Kept until here: openssl may end when its input does.
        drop(typed.join());
    }

    /// Waits for its end, and returns what it reported besides the data.
    fn report(mut self) -> String {
        let mut report = String::new();
        let stderr = self.0.stderr.as_mut().expect("it is piped");
        stderr.read_to_string(&mut report).expect("it is text");
        self.0.wait().expect("it was started");
        report
    }

    /// Its summary of the connection, after a transfer.
    fn assert_suite(self, what: &str, suite: &Suite, started: Instant) {
        let report = self.report();
        let line = |name| report.lines().find(|line| line.starts_with(name)).unwrap_or(&report);
        let (version, cipher) = (line("Protocol version: "), line("Ciphersuite: "));
        let elapsed = started.elapsed();
        println!("openssl {what}: {LEN} bytes and back; {version}; {cipher}; {elapsed:.1?}");
        assert_eq!(cipher, format!("Ciphersuite: {}", suite.openssl));
    }
}

impl Drop for Openssl {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads as many painted bytes as a transfer has.
fn expect_painted(source: &mut impl Read) {
    let mut buffer = vec![0; 1 << 16];
    let mut offset = 0;
    while offset < LEN {
        let room = (LEN - offset).min(1 << 16);
        let len = source.read(&mut buffer[..room]).expect("the other end sends");
        assert!(len > 0, "only {offset} bytes came");
        assert!(buffer[..len] == painted(offset, len), "other bytes from {offset} on");
        offset += len;
    }
}

/// A place for a socket that no other test has.
fn socket(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("keyspring-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// Connects as soon as openssl listens.
fn connect(socket: &Path) -> UnixStream {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn as_client<S: Read + Write>(suite: &Suite, stream: S) -> StreamOwned<ClientConnection, S> {
    let config = Arc::new(client(ours(suite), suite.identity));
    let name = "localhost".try_into().expect("it is a name");
    StreamOwned::new(ClientConnection::new(config, name).expect("the config is whole"), stream)
}

#[test]
fn s_server_takes_and_sends_100_mb() {
    let path = socket("server");
    for suite in suites() {
        let started = Instant::now();
        let mut openssl = Openssl::server(&suite, &path);
        let mut connection = as_client(&suite, connect(&path));
        openssl.exchange(&mut connection);
        connection.conn.send_close_notify();
        connection.flush().expect("openssl reads");
        drop(connection);
        openssl.assert_suite("s_server", &suite, started);
    }
}

#[test]
fn s_client_takes_and_sends_100_mb() {
    let path = socket("client");
    let listener = UnixListener::bind(&path).expect("nobody else has this path");
    for suite in suites() {
        let started = Instant::now();
        let mut openssl = Openssl::client(&suite, &path, &["-brief"]);
        let (stream, _) = listener.accept().expect("openssl connects");
        let config = Arc::new(server(ours(&suite), suite.identity));
        let connection = ServerConnection::new(config).expect("the config is whole");
        let mut connection = StreamOwned::new(connection, stream);
        openssl.exchange(&mut connection);
        connection.conn.send_close_notify();
        connection.flush().expect("openssl reads");
        drop(connection);
        openssl.assert_suite("s_client", &suite, started);
    }
    let _ = std::fs::remove_file(&path);
}

/// A stream that flips a bit of the last byte of what is read, if it was told to.
struct Spoiling {
    stream: UnixStream,
    armed: bool,
}

impl Read for Spoiling {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.stream.read(buffer)?;
        if self.armed && len > 0 {
            buffer[len - 1] ^= 1;
        }
        Ok(len)
    }
}

impl Write for Spoiling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[test]
fn s_server_hears_bad_record_mac_for_a_spoilt_record() {
    let path = socket("spoilt");
    for suite in suites() {
        let mut openssl = Openssl::server(&suite, &path);
        let stream = Spoiling { stream: connect(&path), armed: false };
        let mut connection = as_client(&suite, stream);
        let mut stdin = openssl.0.stdin.take().expect("it is piped");
        let stdout = openssl.0.stdout.as_mut().expect("it is piped");
        let mut buffer = [0; 5];
        // We speak first: openssl may wait for us forever if it has input before the handshake.
        connection.write_all(b"hello").expect("openssl reads");
        stdout.read_exact(&mut buffer).expect("openssl prints");
        stdin.write_all(&[0x80; 5]).expect("openssl reads");
        connection.read_exact(&mut buffer).expect("it is genuine");
        connection.sock.armed = true;
        stdin.write_all(&[0x80; 5]).expect("openssl reads");
        let error = connection.read_exact(&mut buffer).expect_err("it was spoilt");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        drop(connection);
        let report = openssl.report();
        let alert = report.lines().find(|line| line.contains("alert")).unwrap_or(&report);
        println!("openssl s_server, {}: {alert}", suite.openssl);
        assert!(alert.contains("alert bad record mac"), "{report}");
    }
}

#[test]
fn s_client_resumes_by_a_ticket() {
    let path = socket("tickets");
    let session = socket("session");
    let session_file = session.to_str().expect("a plain path");
    let listener = UnixListener::bind(&path).expect("nobody else has this path");
    let ticketer = rustls_keyspring::ticketer().expect("there is entropy");
    for suite in suites() {
        for (option, expected) in [("-sess_out", "New, "), ("-sess_in", "Reused, ")] {
            let mut openssl = Openssl::client(&suite, &path, &[option, session_file]);
            let (stream, _) = listener.accept().expect("openssl connects");
            let mut config = server(ours(&suite), suite.identity);
            config.ticketer = Arc::clone(&ticketer);
            let connection = ServerConnection::new(Arc::new(config)).expect("the config is whole");
            let mut connection = StreamOwned::new(connection, stream);
            connection.write_all(b"hello\n").expect("openssl reads");
            connection.conn.send_close_notify();
            connection.flush().expect("openssl reads");
            let mut output = String::new();
            let stdout = openssl.0.stdout.as_mut().expect("it is piped");
            stdout.read_to_string(&mut output).expect("it is text");
            let line = output.lines().find(|line| line.contains("Cipher is")).unwrap_or(&output);
            println!("openssl s_client {option}: {line}");
            assert!(line.starts_with(expected) && line.ends_with(suite.openssl), "{output}");
        }
    }
    let _ = std::fs::remove_file(&path);
    let _ = std::fs::remove_file(&session);
}

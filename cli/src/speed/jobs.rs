//! What is measured, what runs it, and how fast it could be.

use core::array;
use core::hint::black_box;

use keyspring::aead::{ChaCha20Poly1305, Packet};
use keyspring::chacha::ChaCha20;
use keyspring::cpu::Report;
use keyspring::{crng, poly1305};

pub(super) struct Job {
    pub(super) name: &'static str,
    pub(super) lengths: &'static [usize],
    /// How many messages of one length a call takes at once.
    pub(super) messages: u32,
    /// A call that does the job with so many bytes in each message.
    pub(super) prepare: fn(usize) -> Box<dyn FnMut()>,
    /// What runs it at this length.
    pub(super) backend: fn(&Report, usize) -> String,
    /// The cycles for 1 KiB that the core's ports allow, where they have been counted.
    pub(super) bound: fn(&Report) -> Option<f64>,
}

const BATCH: usize = 16;

const LENGTHS: &[usize] = &[16, 64, 256, 1024, 4096, 16384, 65536];

pub(super) const JOBS: &[Job] = &[
    Job {
        name: "ChaCha20",
        lengths: LENGTHS,
        messages: 1,
        prepare: chacha20,
        backend: |report, _| report.chacha20().into(),
        bound: chacha20_bound,
    },
    Job {
        name: "Poly1305",
        lengths: LENGTHS,
        messages: 1,
        prepare: poly1305,
        backend: |report, bytes| poly1305_backend(report, bytes).into(),
        bound: poly1305_bound,
    },
    Job {
        name: "seal",
        lengths: LENGTHS,
        messages: 1,
        prepare: seal,
        backend: fused,
        bound: aead_bound,
    },
    Job {
        name: "open",
        lengths: LENGTHS,
        messages: 1,
        prepare: open,
        backend: both,
        bound: aead_bound,
    },
    Job {
        name: "seal 16 at once",
        lengths: &[16, 64, 256, 1024, 4096],
        messages: BATCH as u32,
        prepare: seal_batch,
        backend: both,
        bound: aead_bound,
    },
    Job {
        name: "random bytes",
        lengths: LENGTHS,
        messages: 1,
        prepare: random_bytes,
        backend: |report, _| report.chacha20().into(),
        bound: |_| None,
    },
    Job {
        name: "session key",
        lengths: &[256],
        messages: 1,
        prepare: session_key,
        backend: |report, _| report.chacha20().into(),
        bound: |_| None,
    },
];

fn chacha20(bytes: usize) -> Box<dyn FnMut()> {
    let mut data = vec![0; bytes];
    Box::new(move || ChaCha20::from_key(&[1; 32], &[2; 12]).apply_keystream(black_box(&mut data)))
}

fn poly1305(bytes: usize) -> Box<dyn FnMut()> {
    let data = vec![0; bytes];
    Box::new(move || {
        black_box(poly1305::mac(&[1; 32], black_box(&data)));
    })
}

/// Always under one nonce, which only a measurement may do.
fn seal(bytes: usize) -> Box<dyn FnMut()> {
    let (cipher, mut data) = (ChaCha20Poly1305::from_key(&[1; 32]), vec![0; bytes]);
    Box::new(move || {
        let tag = cipher.seal_in_place(&[2; 12], &[3; 13], black_box(&mut data));
        black_box(tag).expect("the length is within the limit");
    })
}

/// As [`seal`].
fn seal_batch(bytes: usize) -> Box<dyn FnMut()> {
    let (cipher, mut data) = (ChaCha20Poly1305::from_key(&[1; 32]), vec![0; BATCH * bytes]);
    Box::new(move || {
        let mut messages = black_box(&mut data).chunks_mut(bytes);
        let mut packets: [_; BATCH] = array::from_fn(|_| {
            let in_out = messages.next().expect("there is data for all");
            Packet { nonce: [2; 12], aad: &[3; 13], in_out, tag: [0; 16] }
        });
        cipher.seal_batch(&mut packets).expect("the lengths are within the limit");
        black_box(&packets);
    })
}

fn open(bytes: usize) -> Box<dyn FnMut()> {
    let (cipher, mut data) = (ChaCha20Poly1305::from_key(&[1; 32]), vec![0; bytes]);
    let sealed = cipher.seal(&[2; 12], &[3; 13], &data).expect("the length is within the limit");
    Box::new(move || {
        let opened = cipher.open_into(&[2; 12], &[3; 13], black_box(&sealed), &mut data);
        opened.expect("it was sealed so");
        black_box(&data);
    })
}

fn random_bytes(bytes: usize) -> Box<dyn FnMut()> {
    let mut data = vec![0; bytes];
    Box::new(move || crng::fill(black_box(&mut data)))
}

fn session_key(_: usize) -> Box<dyn FnMut()> {
    Box::new(|| {
        black_box(crng::session_key().as_bytes());
    })
}

fn poly1305_backend(report: &Report, bytes: usize) -> &'static str {
    match report.poly1305_threshold() {
        Some(threshold) if bytes >= threshold => report.poly1305(),
        _ => "scalar",
    }
}

fn both(report: &Report, bytes: usize) -> String {
    format!("{} + {}", report.chacha20(), poly1305_backend(report, bytes))
}

/// A fused row leaves the beginning and the end to both, and below 1 KiB there is nothing else.
fn fused(report: &Report, bytes: usize) -> String {
    match report.fused() {
        Some(fused) if bytes >= 1024 => format!("{fused}, fused"),
        _ => both(report, bytes),
    }
}

/// 80 quarter rounds of 12 operations for as many blocks as a vector has words, 16 additions, and
/// the transpose. How many of these start in a cycle depends on the core: AVX-512 has two ports, of
/// which one rotates, and on Zen 5 four, of which two do; AVX2 on Skylake three, and three
/// instructions for a rotation.
fn chacha20_bound(report: &Report) -> Option<f64> {
    match (report.chacha20(), is_amd(report)) {
        ("avx512", false) => Some(528.0),
        ("avx512", true) if report.tuning() == "zen5" => Some(264.0),
        ("avx512", true) => Some(532.0),
        ("avx2", false) => Some(906.0),
        // Counted for Zen 2, whose four vector pipes Zen 3 has too.
        ("avx2", true) => Some(680.0),
        _ => None,
    }
}

/// In radix 2^44, with multiply-adds of 52 bits, counted for Intel's two ports.
fn poly1305_bound(report: &Report) -> Option<f64> {
    (report.poly1305() == "avx512ifma" && !is_amd(report)).then_some(119.0)
}

/// With AVX-512 both want the same two ports: the sum. With AVX2 Poly1305 has the integer units to
/// itself, and nobody has counted that.
fn aead_bound(report: &Report) -> Option<f64> {
    Some(chacha20_bound(report)? + poly1305_bound(report)?)
}

fn is_amd(report: &Report) -> bool {
    report.to_string().contains("AuthenticAMD")
}

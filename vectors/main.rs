//! Known answers, on every backend that this machine can run.
//!
//! Each text file in this folder holds vectors (README.md says how they are written), and each test
//! below runs one file on one backend after the other. A vector's `algorithm` says what runs it:
//!
//! ```text
//! main.rs        which files, how many vectors, on which backends
//! file.rs        the file format
//! stream.rs      ChaCha8 to ChaCha20, legacy, XChaCha20, HChaCha20
//! mac.rs         Poly1305
//! sealed.rs      both AEADs, through every entry point, and forgeries
//! seeded.rs      SeededCrng
//! wycheproof.rs  Project Wycheproof's vectors for both AEADs
//! ```
//!
//! Every count is asserted: a vector that is not run fails the test just as a wrong byte does.

mod file;
mod mac;
mod sealed;
mod seeded;
mod stream;
mod wycheproof;

use keyspring::aead::{ChaCha20Poly1305, XChaCha20Poly1305};
use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20};
use keyspring::cpu;

use crate::file::{Vector, parse};

/// What a file amounts to on one backend.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    /// Vectors whose every answer was right.
    vectors: usize,
    /// Tags and sealed messages with one bit flipped, all of them refused.
    forgeries: usize,
}

#[test]
fn chacha20_gives_the_answers_of_rfc_8439() {
    let file = include_str!("rfc8439_chacha20.txt");
    run("rfc8439_chacha20.txt", file, Tally { vectors: 10, forgeries: 0 });
}

#[test]
fn poly1305_gives_the_answers_of_rfc_8439() {
    let file = include_str!("rfc8439_poly1305.txt");
    run("rfc8439_poly1305.txt", file, Tally { vectors: 12, forgeries: 12 * 128 });
}

#[test]
fn chacha20_poly1305_gives_the_answers_of_rfc_8439() {
    let file = include_str!("rfc8439_aead.txt");
    run("rfc8439_aead.txt", file, Tally { vectors: 8, forgeries: 186 + 337 });
}

#[test]
fn xchacha_gives_the_answers_of_its_draft() {
    let file = include_str!("xchacha.txt");
    run("xchacha.txt", file, Tally { vectors: 6, forgeries: 198 });
}

#[test]
fn reduced_rounds_and_long_counters_give_the_known_answers() {
    let file = include_str!("chacha_rounds.txt");
    run("chacha_rounds.txt", file, Tally { vectors: 29, forgeries: 0 });
}

#[test]
fn long_messages_give_the_models_answers() {
    let file = include_str!("long.txt");
    run("long.txt", file, Tally { vectors: 3, forgeries: 128 + LONG_FORGERIES });
}

/// A bit in each byte of key, nonce, AAD, ciphertext and tag.
const LONG_FORGERIES: usize = 32 + 12 + 13 + 2111 + 16;

#[test]
fn the_seeded_stream_is_frozen() {
    let file = include_str!("seeded_crng.txt");
    run("seeded_crng.txt", file, Tally { vectors: 7, forgeries: 0 });
}

/// Runs all vectors of a file on every backend.
fn run(file: &str, text: &str, expected: Tally) {
    let vectors = parse(file, text);
    on_every_backend(|backend| {
        let mut tally = Tally::default();
        for vector in &vectors {
            let place = Place { file, vector: vector.name(), backend };
            tally.forgeries += check(vector, place);
            tally.vectors += 1;
        }
        let Tally { vectors, forgeries } = tally;
        println!("{file}: {backend}: {vectors} vectors, {forgeries} forgeries refused");
        assert_eq!(tally, expected, "{file}: {backend}");
    });
}

/// Runs one vector and returns how many forgeries of it were refused.
fn check(vector: &Vector<'_>, place: Place<'_>) -> usize {
    match vector.text("algorithm") {
        "ChaCha8" => stream::check::<ChaCha8>(vector, place),
        "ChaCha12" => stream::check::<ChaCha12>(vector, place),
        "ChaCha20" => {
            stream::check::<ChaCha20>(vector, place);
            stream::check_block(vector, place);
        }
        "ChaCha20Legacy" => stream::check::<ChaCha20Legacy>(vector, place),
        "XChaCha20" => stream::check::<XChaCha20>(vector, place),
        "HChaCha20" => stream::check_hchacha20(vector, place),
        "Poly1305" => return mac::check(vector, place),
        "ChaCha20Poly1305" => return sealed::check::<ChaCha20Poly1305>(vector, place),
        "XChaCha20Poly1305" => return sealed::check::<XChaCha20Poly1305>(vector, place),
        "SeededCrng" => seeded::check(vector, place),
        "SeededCrng::split" => seeded::check_split(vector, place),
        other => panic!("{}: {}: unknown algorithm {other}", place.file, place.vector),
    }
    0
}

/// Calls `test` with the name of each backend while that backend is forced, best first: as it is,
/// tuned as on Zen 5, and with its kernels running wherever they can and not only where they pay,
/// since most vectors are short.
///
/// Fails if a backend did not run that had to. Those are, in any case, the ones that the CPU's
/// feature bits promise. Where the environment variable `KEYSPRING_BACKENDS` holds names with
/// commas between them, as it does in continuous integration, those must have run and no others.
fn on_every_backend(mut test: impl FnMut(&str)) {
    let mut ran = Vec::new();
    for backend in cpu::backends() {
        for manner in ["plain", "zen5", "no-threshold"] {
            let name = format!("{backend}+{manner}");
            let _forced = cpu::force(&name).expect("cpu::backends() lists what force() accepts");
            test(&name);
        }
        ran.push(backend);
    }

    assert_eq!(ran.last(), Some(&"scalar"), "the last row runs everywhere");
    for backend in promised_by_the_cpu() {
        assert!(ran.contains(&backend), "{backend} did not run, only {ran:?}");
    }
    if let Ok(names) = std::env::var("KEYSPRING_BACKENDS") {
        assert_eq!(ran, names.split(',').collect::<Vec<_>>(), "KEYSPRING_BACKENDS");
    }
}

/// The backends that have a kernel for every primitive and whose features this CPU has.
fn promised_by_the_cpu() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let vectors: &[_] = {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512vl") {
            &["avx512", "avx512vl", "avx2", "sse2"]
        } else if has!("avx2") {
            &["avx2", "sse2"]
        } else {
            &["sse2"]
        }
    };
    #[cfg(not(target_arch = "x86_64"))]
    let vectors: &[_] = if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
        &["neon"]
    } else if cfg!(all(target_arch = "wasm32", target_feature = "simd128")) {
        &["simd128"]
    } else {
        &[]
    };
    [vectors, &["scalar"]].concat()
}

/// Where a test stands: what its failure must name.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    vector: &'a str,
    backend: &'a str,
}

impl Place<'_> {
    /// Fails unless `got` is `want`, with the offset of the first byte that is not.
    #[track_caller]
    fn same(self, what: &str, got: &[u8], want: &[u8]) {
        if got != want {
            let offset = got.iter().zip(want).take_while(|(got, want)| got == want).count();
            let from_there =
                |bytes: &[u8]| hex::encode(&bytes[offset..bytes.len().min(offset + 16)]);
            self.fail(&format!(
                "{what}: first wrong byte at offset {offset}: {} of {} bytes, should be {} of {}",
                from_there(got),
                got.len(),
                from_there(want),
                want.len(),
            ));
        }
    }

    #[track_caller]
    fn fail(self, why: &str) -> ! {
        let Self { file, vector, backend } = self;
        panic!("{file}: {vector}: {backend}: {why}")
    }
}

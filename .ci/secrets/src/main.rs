//! Does anything branch or index on a secret?
//!
//! Each case runs on every backend with keys, plaintexts and entropy marked secret. What a case
//! gives back must be secret too: in a second run, the *leaky twin*, the program branches on it,
//! which must be reported. So the marks went through the very instructions that are judged.
//!
//! Verdicts are public, and one branch for each says so. For tags that is `tags_are_equal`.
//!
//! There is no `main` of `std` and no output through it: MemorySanitizer knows nothing of code that
//! was not compiled with it.

#![no_main]
#![cfg_attr(msan, feature(sanitize))]

mod watch;

use core::ffi::{CStr, c_char, c_int};
use core::hint::black_box;

use keyspring::aead::{
    ChaCha20Poly1305, NonceSequence, Opener, Packet, Sealer, Step, XChaCha20Poly1305,
    open_batch_keyed, seal_batch_keyed,
};
use keyspring::chacha::{ChaCha20, ChaCha20Legacy, XChaCha20, block, hchacha20};
use keyspring::cpu;
#[cfg(not(msan))]
use keyspring::crng::{self, Crng, EntropySource, Error};
use keyspring::crng::{SeededCrng, SessionKey};
use keyspring::poly1305::{Poly1305, mac};

use self::watch::{is_watched, public, reports, secret};

/// Lengths on both sides of what the kernels branch on: blocks, passes, thresholds, sections.
const LENGTHS: [usize; 19] =
    [0, 1, 15, 16, 63, 64, 65, 128, 192, 200, 256, 300, 448, 449, 520, 1024, 1400, 4100, 9000];
const LONGEST: usize = 9000;

struct Case {
    name: &'static CStr,
    /// How many verdicts it comes to: on a tag, on whether a source of entropy repeats itself, or on
    /// whether a page still holds a key.
    verdicts: usize,
    /// With `true`, the leaky twin.
    run: fn(bool),
}

const CASES: &[Case] = &[
    Case { name: c"chacha20", verdicts: 0, run: chacha20 },
    Case { name: c"xchacha20, legacy, block", verdicts: 0, run: other_streams },
    Case { name: c"poly1305", verdicts: 0, run: poly1305 },
    Case { name: c"poly1305 verify", verdicts: 1, run: poly1305_verify },
    Case { name: c"seal", verdicts: 0, run: seal },
    Case { name: c"open", verdicts: LENGTHS.len(), run: open },
    Case { name: c"open a forgery", verdicts: LENGTHS.len(), run: open_a_forgery },
    Case { name: c"seal and open into", verdicts: LENGTHS.len(), run: into },
    Case { name: c"xchacha20-poly1305", verdicts: 1, run: extended },
    Case { name: c"batch", verdicts: BATCH, run: batch },
    Case { name: c"batch of one length", verdicts: 3 * ALIKE, run: batch_of_one_length },
    Case { name: c"xchacha20-poly1305 batch", verdicts: BATCH, run: extended_batch },
    Case { name: c"sealer's batch", verdicts: 0, run: batch_in_sequence },
    Case { name: c"sealer, opener", verdicts: LENGTHS.len(), run: in_sequence },
    Case { name: c"in steps", verdicts: LENGTHS.len(), run: in_steps },
    #[cfg(not(msan))]
    Case { name: c"owned crng", verdicts: 4, run: owned_crng },
    #[cfg(not(msan))]
    Case { name: c"a thread's crng", verdicts: 1, run: thread_crng },
    Case { name: c"seeded crng, integers", verdicts: 0, run: seeded_crng },
    Case { name: c"session keys compared", verdicts: 0, run: session_keys },
];

/// A key that nobody knows.
fn a_key() -> [u8; 32] {
    let key = black_box([0x5a; 32]);
    secret(&key);
    key
}

/// A message that nobody knows.
fn a_message() -> [u8; LONGEST] {
    let message = black_box([0x33; LONGEST]);
    secret(&message);
    message
}

/// The end of a case: what came of it becomes public, after a branch on it in the leaky twin.
fn finish<T: ?Sized + AsRef<[u8]>>(leak: bool, result: &T) {
    let bytes = result.as_ref();
    if leak && bytes.first().is_some_and(|byte| byte & 1 == 1) {
        black_box(());
    }
    public(bytes);
}

fn chacha20(leak: bool) {
    let key = a_key();
    for len in LENGTHS {
        let mut buffer = a_message();
        ChaCha20::from_key(&key, &[3; 12]).apply_keystream(&mut buffer[..len]);
        finish(leak, &buffer[..len]);
        ChaCha20::from_key(&key, &[3; 12]).write_keystream(&mut buffer[..len]);
        finish(leak, &buffer[..len]);
    }
}

fn other_streams(leak: bool) {
    let key = a_key();
    let mut buffer = a_message();
    XChaCha20::from_key(&key, &[3; 24]).apply_keystream(&mut buffer[..700]);
    finish(leak, &buffer[..700]);
    let mut legacy = ChaCha20Legacy::from_key(&key, &[3; 8]);
    legacy.seek_to((1 << 38) - 100);
    legacy.apply_keystream(&mut buffer[..700]);
    finish(leak, &buffer[..700]);
    finish(leak, &block(&key, 7, &[3; 12]));
    finish(leak, &hchacha20(&key, &[3; 16]));
}

fn poly1305(leak: bool) {
    let key = a_key();
    let message = a_message();
    for len in LENGTHS {
        finish(leak, &mac(&key, &message[..len]));
        let mut poly = Poly1305::from_key(&key);
        for piece in message[..len].chunks(1000) {
            poly.update(piece);
        }
        finish(leak, &poly.finalize());
    }
}

fn poly1305_verify(leak: bool) {
    let message = a_message();
    let mut poly = Poly1305::from_key(&a_key());
    poly.update(&message[..100]);
    black_box(poly.verify(&[7; 16]).is_ok());
    finish(leak, &message[..100]);
}

fn seal(leak: bool) {
    let cipher = ChaCha20Poly1305::from_key(&a_key());
    let aad = [1; 300];
    for len in LENGTHS {
        let mut buffer = a_message();
        let tag = cipher.seal_in_place(&[3; 12], &aad[..len % 300], &mut buffer[..len]).unwrap();
        finish(leak, &tag);
        finish(leak, &buffer[..len]);
        let (message, mut out) = (a_message(), [0; LONGEST + 16]);
        let parts = [&message[..len / 3], &message[len / 3..len]];
        cipher.seal_gather(&[3; 12], &[&aad], &parts, &mut out[..len + 16]).unwrap();
        finish(leak, &out[..len + 16]);
    }
}

fn open(leak: bool) {
    let cipher = ChaCha20Poly1305::from_key(&a_key());
    for len in LENGTHS {
        let mut buffer = [0x33; LONGEST];
        let tag = cipher.seal_in_place(&[3; 12], &[], &mut buffer[..len]).unwrap();
        public(&tag);
        public(&buffer);
        cipher.open_in_place(&[3; 12], &[], &mut buffer[..len], &tag).unwrap();
        finish(leak, &buffer[..len]);
    }
}

/// Nothing secret comes of it, so the twin branches on the key.
fn open_a_forgery(leak: bool) {
    let key = a_key();
    let cipher = ChaCha20Poly1305::from_key(&key);
    for len in LENGTHS {
        let mut out = [0; LONGEST];
        let forged = [0x44; LONGEST + 16];
        assert!(cipher.open_into(&[3; 12], &[], &forged[..len + 16], &mut out[..len]).is_err());
    }
    finish(leak, &key);
}

fn into(leak: bool) {
    let cipher = ChaCha20Poly1305::from_key(&a_key());
    for len in LENGTHS {
        let (message, mut sealed, mut opened) = (a_message(), [0; LONGEST + 16], [0; LONGEST]);
        let sealed = &mut sealed[..len + 16];
        cipher.seal_into(&[3; 12], &[1; 20], &message[..len], sealed).unwrap();
        finish(leak, sealed);
        cipher.open_into(&[3; 12], &[1; 20], sealed, &mut opened[..len]).unwrap();
        finish(leak, &opened[..len]);
    }
}

fn extended(leak: bool) {
    let cipher = XChaCha20Poly1305::from_key(&a_key());
    let mut buffer = a_message();
    let tag = cipher.seal_in_place(&[3; 24], &[], &mut buffer[..333]).unwrap();
    public(&tag);
    public(&buffer);
    cipher.open_in_place(&[3; 24], &[], &mut buffer[..333], &tag).unwrap();
    finish(leak, &buffer[..333]);
}

/// As many packets as go through lanes together and some more, of different lengths.
const BATCH: usize = 10;

/// Packets of the lengths given; each nonce ends in its packet's number.
fn packets<'a, const N: usize, const COUNT: usize>(
    buffers: &'a mut [[u8; LONGEST]; COUNT],
    len: impl Fn(usize) -> usize,
) -> [Packet<'a, N>; COUNT] {
    let mut number = 0;
    buffers.each_mut().map(|buffer| {
        let mut nonce = [3; N];
        nonce[N - 1] = number as u8;
        let in_out = &mut buffer[..len(number)];
        number += 1;
        Packet { nonce, aad: &[1; 20], in_out, tag: [0; 16] }
    })
}

/// Seals and opens packets of one key, up to their verdicts.
macro_rules! seal_and_open {
    ($leak:ident, $cipher:ident, $nonce:literal, $len:expr) => {{
        let cipher = $cipher::from_key(&a_key());
        let mut buffers = [a_message(); BATCH];
        let mut packets = packets::<$nonce, BATCH>(&mut buffers, $len);
        cipher.seal_batch(&mut packets).unwrap();
        for packet in &packets {
            public(&packet.tag);
            finish($leak, &packet.in_out[..]);
        }
        let mut ok = [false; BATCH];
        assert_eq!(cipher.open_batch(&mut packets, &mut ok), Ok(BATCH));
        for packet in &packets {
            finish($leak, &packet.in_out[..]);
        }
    }};
}

fn batch(leak: bool) {
    seal_and_open!(leak, ChaCha20Poly1305, 12, |i| LENGTHS[i]);
}

/// As many as fill two vectors of the widest row.
const ALIKE: usize = 16;

/// By the calls for several keys.
fn batch_of_one_length(leak: bool) {
    let cipher = ChaCha20Poly1305::from_key(&a_key());
    let mut buffers = [a_message(); ALIKE];
    for len in [40, 128, 1350] {
        let mut keyed = packets(&mut buffers, |_| len).map(|packet| (&cipher, packet));
        seal_batch_keyed(&mut keyed).unwrap();
        for (_, packet) in &keyed {
            public(&packet.tag);
            finish(leak, &packet.in_out[..]);
        }
        let mut ok = [false; ALIKE];
        assert_eq!(open_batch_keyed(&mut keyed, &mut ok), Ok(ALIKE));
        for (_, packet) in &keyed {
            finish(leak, &packet.in_out[..]);
            secret(&packet.in_out[..]);
        }
    }
}

fn extended_batch(leak: bool) {
    seal_and_open!(leak, XChaCha20Poly1305, 24, |i| LENGTHS[BATCH - i]);
}

fn batch_in_sequence(leak: bool) {
    let mut sealer = Sealer::new(&a_key(), NonceSequence::CounterLittleEndian);
    let mut buffers = [a_message(); BATCH];
    let mut packets = packets::<12, BATCH>(&mut buffers, |i| LENGTHS[i]);
    sealer.seal_next_batch(&mut packets).unwrap();
    for packet in &packets {
        finish(leak, &packet.tag);
        finish(leak, &packet.in_out[..]);
    }
}

fn in_sequence(leak: bool) {
    let (key, sequence) = (a_key(), NonceSequence::XorBigEndian([1; 12]));
    let mut sealer = Sealer::new(&key, sequence);
    let mut opener = Opener::new(&key, sequence).reject_replays();
    for len in LENGTHS {
        let mut buffer = a_message();
        let (number, tag) = sealer.seal_next(&[1; 20], &mut buffer[..len]).unwrap();
        public(&tag);
        finish(leak, &buffer[..len]);
        opener.open(number, &[1; 20], &mut buffer[..len], &tag).unwrap();
        finish(leak, &buffer[..len]);
    }
}

fn in_steps(leak: bool) {
    let cipher = ChaCha20Poly1305::from_key(&a_key());
    for len in LENGTHS {
        let mut buffer = a_message();
        let mut sealing = cipher.sealing(&[3; 12], &[1; 20], &mut buffer[..len]).unwrap();
        let tag = loop {
            if let Step::Finished(tag) = sealing.step() {
                break tag;
            }
        };
        drop(sealing);
        public(&tag);
        finish(leak, &buffer[..len]);
        let mut opening = cipher.opening(&[3; 12], &[1; 20], &mut buffer[..len], &tag).unwrap();
        while let Step::More(_) = opening.step() {}
        drop(opening);
        finish(leak, &buffer[..len]);
    }
}

/// Gives bytes that nobody knows.
#[cfg(not(msan))]
struct Secrets(u8);

#[cfg(not(msan))]
impl EntropySource for Secrets {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        for byte in &mut *dst {
            self.0 = self.0.wrapping_mul(5).wrapping_add(1);
            *byte = self.0;
        }
        secret(dst);
        Ok(())
    }
}

/// A seed, a refill and bulk, each of two draws. MemorySanitizer does without: it takes the system's
/// time for never written, since the vDSO that writes it is no code of ours.
#[cfg(not(msan))]
fn owned_crng(leak: bool) {
    let mut crng = Crng::builder().source(Secrets(1)).build().unwrap();
    let mut buffer = [0; LONGEST];
    for len in [100, LONGEST] {
        crng.try_fill(&mut buffer[..len]).unwrap();
        finish(leak, &buffer[..len]);
    }
    crng.reseed().unwrap();
    finish(leak, crng.try_key::<256>().unwrap().as_bytes());
}

/// What is added to the pool makes the next key of this thread's page a secret.
#[cfg(not(msan))]
fn thread_crng(leak: bool) {
    crng::add_entropy(&a_key());
    crng::reseed().unwrap();
    let mut buffer = [0; LONGEST];
    for len in [16, 100, 1000, 1000, LONGEST] {
        crng::fill(&mut buffer[..len]);
        finish(leak, &buffer[..len]);
    }
    finish(leak, crng::session_key().as_bytes());
    finish(leak, &crng::u64().to_le_bytes());
    finish(leak, &[u8::from(crng::bool())]);
    let mut keys = [const { SessionKey::<32>::zeroed() }; 40];
    crng::fill_keys(&mut keys);
    keys.iter().for_each(|key| finish(leak, key.as_bytes()));
}

fn seeded_crng(leak: bool) {
    let mut crng = SeededCrng::from_seed(a_key());
    finish(leak, &crng.bytes::<2000>());
    finish(leak, &crng.u8().to_le_bytes());
    finish(leak, &crng.u16().to_le_bytes());
    finish(leak, &crng.u32().to_le_bytes());
    finish(leak, &crng.u64().to_le_bytes());
    finish(leak, &crng.u128().to_le_bytes());
    finish(leak, &[u8::from(crng.bool())]);
    finish(leak, &crng.split(b"a label").bytes::<32>());
}

fn session_keys(leak: bool) {
    let (a, b) = (SessionKey::<256>::from([1; 256]), SessionKey::<256>::from([2; 256]));
    secret(&a);
    secret(&b);
    finish(leak, &[u8::from(black_box(&a) == black_box(&b))]);
}

unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
    fn fflush(stream: *mut core::ffi::c_void) -> c_int;
}

#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    if !is_watched() {
        // SAFETY: a format without arguments.
        unsafe { printf(c"nobody is watching: run this by .ci/constant-time\n".as_ptr()) };
        return 2;
    }
    // A page's first seed lasts for one refill, and its buffer grows at first: from then on, runs are alike.
    #[cfg(not(msan))]
    thread_crng(false);
    let mut failures = 0;
    // Where kernels are others on Zen 5, those as well.
    let tuned = ["avx512+zen5", "avx2+zen5"].into_iter().filter(|name| cpu::force(name).is_ok());
    for backend in cpu::backends().chain(tuned) {
        let _forced = cpu::force(backend).expect("it is usable");
        for case in CASES {
            let before = reports();
            (case.run)(false);
            let found = reports() - before;
            (case.run)(true);
            let twin = reports() - before - found;
            let verdict = if found != case.verdicts {
                c"A SECRET WAS USED"
            } else if twin <= found {
                c"THE TWIN'S LEAK WAS NOT SEEN"
            } else {
                c"ok"
            };
            failures += c_int::from(verdict != c"ok");
            let format = c"%-12.*s %-26s %3zu reports, %3zu verdicts, %3zu in the leaky twin: %s\n";
            // SAFETY: the arguments are what the format asks for.
            unsafe {
                printf(
                    format.as_ptr(),
                    backend.len() as c_int,
                    backend.as_ptr(),
                    case.name.as_ptr(),
                    found,
                    case.verdicts,
                    twin,
                    verdict.as_ptr(),
                );
                fflush(core::ptr::null_mut());
            }
        }
    }
    c_int::from(failures > 0)
}

//! What sealing and opening leave on the stack: a thread stops where a call has returned, and another
//! looks through its memory.
//!
//! Buffers that the library has a name for are wiped. What the compiler spilled is not, and can't be:
//! it is counted and printed. The two differ in length: a buffer holds the keystream of a message, or a
//! key, in one piece, and a spilled register no more than itself, or the one beside it.
#![cfg(target_os = "linux")]

use core::hint::black_box;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::channel;

use keyspring::aead::{
    ChaCha20Poly1305, NonceSequence, Opener, Packet, Sealer, Step, XChaCha20Poly1305,
};
use keyspring::{chacha, cpu};

const KEY: [u8; 32] = *b"a key that is nowhere on a stack";
const NONCE: [u8; 12] = *b"start vector";
const AAD: [u8; 13] = [0x11; 13];
const PACKETS: usize = 16;

/// A call that is looked at, and whether it may know what the messages say.
struct Call {
    name: &'static str,
    run: fn(&mut Work),
    refused: bool,
}

const CALLS: [Call; 14] = [
    Call {
        name: "seal_in_place",
        run: |work| {
            let message = &mut work.messages[0];
            work.tags[0] = work.cipher.seal_in_place(&NONCE, &AAD, message).unwrap();
        },
        refused: false,
    },
    Call {
        name: "seal_into",
        run: |work| work.cipher.seal_into(&NONCE, &AAD, &work.messages[0], &mut work.out).unwrap(),
        refused: false,
    },
    Call {
        name: "seal_gather",
        run: |work| {
            let (head, tail) = work.messages[0].split_at(work.messages[0].len() / 3);
            work.cipher.seal_gather(&NONCE, &[&AAD], &[head, tail], &mut work.out).unwrap();
        },
        refused: false,
    },
    Call {
        name: "open_in_place, genuine",
        run: |work| {
            let (message, tag) = (&mut work.messages[0], &work.tags[0]);
            work.cipher.open_in_place(&NONCE, &AAD, message, tag).unwrap();
        },
        refused: false,
    },
    Call {
        name: "open_in_place, refused",
        run: |work| {
            let message = &mut work.messages[0];
            work.cipher.open_in_place(&NONCE, &AAD, message, &[0; 16]).unwrap_err();
        },
        refused: true,
    },
    Call {
        name: "seal_batch",
        run: |work| {
            let Work { cipher, messages, .. } = work;
            cipher.seal_batch(&mut packets(messages, nonce)).unwrap();
        },
        refused: false,
    },
    Call {
        name: "open_batch, refused",
        run: |work| {
            let Work { cipher, messages, .. } = work;
            let packets = &mut packets(messages, nonce);
            assert_eq!(cipher.open_batch(packets, &mut [true; PACKETS]), Ok(0));
        },
        refused: true,
    },
    Call {
        name: "Sealer",
        run: |work| {
            for message in &mut work.messages {
                work.sealer.seal_next(&AAD, message).unwrap();
            }
        },
        refused: false,
    },
    Call {
        name: "Opener, refused",
        run: |work| {
            for (number, message) in work.messages.iter_mut().enumerate() {
                work.opener.open(number as u64, &AAD, message, &[0; 16]).unwrap_err();
            }
        },
        refused: true,
    },
    Call {
        name: "X, seal_in_place",
        run: |work| {
            let message = &mut work.extended_messages[0];
            work.extended.seal_in_place(&extended_nonce(0), &AAD, message).unwrap();
        },
        refused: false,
    },
    Call {
        name: "X, open_in_place, genuine",
        run: |work| {
            let (message, tag) = (&mut work.extended_messages[0], &work.extended_tags[0]);
            work.extended.open_in_place(&extended_nonce(0), &AAD, message, tag).unwrap();
        },
        refused: false,
    },
    Call {
        name: "X, open_in_place, refused",
        run: |work| {
            let message = &mut work.extended_messages[0];
            let refused = work.extended.open_in_place(&extended_nonce(0), &AAD, message, &[0; 16]);
            refused.unwrap_err();
        },
        refused: true,
    },
    Call {
        name: "X, seal_batch",
        run: |work| {
            let packets = &mut packets(&mut work.extended_messages, extended_nonce);
            work.extended.seal_batch(packets).unwrap();
        },
        refused: false,
    },
    Call {
        name: "X, open_batch, refused",
        run: |work| {
            let packets = &mut packets(&mut work.extended_messages, extended_nonce);
            assert_eq!(work.extended.open_batch(packets, &mut [true; PACKETS]), Ok(0));
        },
        refused: true,
    },
];

/// Those whose object has a copy of the key, which stays where the object is moved from (SECURITY.md).
const STEPWISE: [Call; 5] = [
    Call {
        name: "Sealing",
        run: |work| {
            let mut sealing = work.cipher.sealing(&NONCE, &AAD, &mut work.messages[0]).unwrap();
            work.tags[0] = last_step(|| sealing.step());
        },
        refused: false,
    },
    Call {
        name: "Sealing, dropped",
        run: |work| {
            let mut sealing = work.cipher.sealing(&NONCE, &AAD, &mut work.messages[0]).unwrap();
            let _ = sealing.step();
        },
        refused: false,
    },
    Call {
        name: "Opening, genuine",
        run: |work| {
            let (message, tag) = (&mut work.messages[0], &work.tags[0]);
            let mut opening = work.cipher.opening(&NONCE, &AAD, message, tag).unwrap();
            last_step(|| opening.step()).unwrap();
        },
        refused: false,
    },
    Call {
        name: "Opening, refused",
        run: |work| {
            let message = &mut work.messages[0];
            let mut opening = work.cipher.opening(&NONCE, &AAD, message, &[0; 16]).unwrap();
            last_step(|| opening.step()).unwrap_err();
        },
        refused: true,
    },
    Call {
        name: "X, Sealing",
        run: |work| {
            let message = &mut work.extended_messages[0];
            let mut sealing = work.extended.sealing(&extended_nonce(0), &AAD, message).unwrap();
            last_step(|| sealing.step());
        },
        refused: false,
    },
];

/// The step that ends a message.
fn last_step<T>(mut step: impl FnMut() -> Step<T>) -> T {
    loop {
        if let Step::Finished(outcome) = step() {
            return outcome;
        }
    }
}

/// What calls work on: all of it on the heap.
struct Work {
    cipher: ChaCha20Poly1305,
    extended: XChaCha20Poly1305,
    sealer: Sealer,
    opener: Opener,
    /// Ciphertexts, and their tags.
    messages: Vec<Vec<u8>>,
    tags: Vec<[u8; 16]>,
    /// The same under XChaCha20-Poly1305.
    extended_messages: Vec<Vec<u8>>,
    extended_tags: Vec<[u8; 16]>,
    out: Vec<u8>,
}

impl Work {
    fn new(len: usize) -> Box<Self> {
        let (cipher, extended) =
            (ChaCha20Poly1305::from_key(&KEY), XChaCha20Poly1305::from_key(&KEY));
        let sequence = NonceSequence::XorBigEndian(NONCE);
        let sealed = |seal: &dyn Fn(usize, &mut [u8]) -> [u8; 16]| {
            let mut messages: Vec<_> = (0..PACKETS).map(|i| plaintext(i, len)).collect();
            let tags = messages.iter_mut().enumerate().map(|(i, message)| seal(i, message));
            let tags: Vec<_> = tags.collect();
            (messages, tags)
        };
        let (messages, tags) =
            sealed(&|i, message| cipher.seal_in_place(&nonce(i), &AAD, message).unwrap());
        let (extended_messages, extended_tags) = sealed(&|i, message| {
            extended.seal_in_place(&extended_nonce(i), &AAD, message).unwrap()
        });
        Box::new(Self {
            tags,
            cipher,
            extended,
            extended_messages,
            extended_tags,
            sealer: Sealer::new(&KEY, sequence),
            opener: Opener::new(&KEY, sequence),
            messages,
            out: vec![0; len + 16],
        })
    }
}

/// With tags that are none of theirs.
fn packets<const N: usize>(
    messages: &mut [Vec<u8>],
    nonce: fn(usize) -> [u8; N],
) -> Vec<Packet<'_, N>> {
    let packet = |(i, in_out)| Packet { nonce: nonce(i), aad: &AAD, in_out, tag: [0; 16] };
    messages.iter_mut().map(Vec::as_mut_slice).enumerate().map(packet).collect()
}

/// Words that are found nowhere by chance.
fn plaintext(number: usize, len: usize) -> Vec<u8> {
    let mut plaintext = vec![0; len];
    chacha::ChaCha20::from_key(&[7; 32], &nonce(number)).write_keystream(&mut plaintext);
    plaintext
}

fn nonce(number: usize) -> [u8; 12] {
    NonceSequence::XorBigEndian(NONCE).nonce(number as u64)
}

/// One key is derived for all of them (draft-irtf-cfrg-xchacha-03, section 2.3).
fn extended_nonce(number: usize) -> [u8; 24] {
    let mut nonce = [0x24; 24];
    nonce[23] = number as u8;
    nonce
}

fn derived_key() -> [u8; 32] {
    chacha::hchacha20(&KEY, &[0x24; 16])
}

/// The keystreams of a message, from block 0 on, whose first half is the Poly1305 key.
fn keystreams(number: usize, len: usize) -> [Vec<u8>; 2] {
    let mut keystreams = [vec![0; 64 + len], vec![0; 64 + len]];
    let mut derived = [0; 12];
    derived[4..].copy_from_slice(&extended_nonce(number)[16..]);
    chacha::ChaCha20::from_key(&KEY, &nonce(number)).write_keystream(&mut keystreams[0]);
    chacha::ChaCha20::from_key(&derived_key(), &derived).write_keystream(&mut keystreams[1]);
    keystreams
}

/// Secret words, and where they stand.
struct Secrets {
    streams: Vec<Vec<u32>>,
    places: HashMap<u32, Vec<(usize, usize)>>,
}

/// What was found.
#[derive(Debug, Default)]
struct Found {
    /// The bytes of the longest piece.
    longest: usize,
    /// The words in all.
    words: usize,
}

impl Secrets {
    fn new(streams: impl Iterator<Item = Vec<u8>>) -> Self {
        let words = |stream: Vec<u8>| {
            stream.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>()
        };
        let streams: Vec<_> = streams.map(words).collect();
        let mut places = HashMap::<_, Vec<_>>::new();
        for (i, stream) in streams.iter().enumerate() {
            for (at, word) in stream.iter().enumerate() {
                places.entry(*word).or_default().push((i, at));
            }
        }
        Self { streams, places }
    }

    fn find(&self, memory: &[u8]) -> Found {
        let words: Vec<u32> =
            memory.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut found = Found::default();
        for (at, word) in words.iter().enumerate() {
            let Some(places) = self.places.get(word) else { continue };
            found.words += 1;
            for (stream, from) in places {
                let here = words[at..].iter().zip(&self.streams[*stream][*from..]);
                let len = here.take_while(|(a, b)| a == b).count();
                found.longest = found.longest.max(4 * len);
            }
        }
        found
    }
}

/// How far down calls can have come, and how far [`clean`] goes.
const DEPTH: usize = 200_000;

/// The stack below an address of a thread that waits.
fn stack_below(address: usize) -> Vec<u8> {
    let start = (address - DEPTH) & !7;
    let mut stack = vec![0; address - start];
    let memory = File::open("/proc/self/mem").expect("Linux has it");
    memory.read_exact_at(&mut stack, start as u64).expect("a stack of two MiB");
    stack
}

/// Overwrites what calls have left further down the stack.
#[inline(never)]
fn clean() {
    black_box(&mut [0_u8; DEPTH]);
}

/// Runs a call far down on a thread's stack, and looks through that once it has returned.
fn leftovers<const N: usize>(
    run: fn(&mut Work),
    work: Box<Work>,
    secrets: [&Secrets; N],
) -> [Found; N] {
    #[inline(never)]
    fn deep(run: fn(&mut Work), work: &mut Work) {
        // What comes after the call must not overwrite what it has left.
        let mut room = [0_u8; 16_384];
        black_box(&mut room);
        run(work);
        black_box(&mut room);
    }
    let (to_main, from_thread) = channel();
    let (to_thread, from_main) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let mut work = work;
        clean();
        deep(run, &mut work);
        let here = 0_u8;
        to_main.send(core::ptr::from_ref(black_box(&here)).addr()).expect("main waits");
        from_main.recv().expect("main says when");
    });
    let address = from_thread.recv().expect("the thread has returned");
    let memory = stack_below(address);
    to_thread.send(()).expect("the thread waits");
    thread.join().expect("the thread ends well");
    secrets.map(|secrets| secrets.find(&memory))
}

/// Every backend, and the best with AVX-512 and AVX2 as they are tuned to Zen 5; and the bytes of two of
/// its registers.
fn backends() -> impl Iterator<Item = (String, usize)> {
    let avx512 = cpu::backends().find(|name| name.starts_with("avx512"));
    let tuned = avx512.into_iter().chain(cpu::backends().filter(|name| *name == "avx2"));
    let tuned = tuned.map(|name| format!("{name}+zen5"));
    cpu::backends().map(String::from).chain(tuned).map(|name| {
        let register = match name.split('+').next() {
            Some("scalar") => 8,
            Some("avx2" | "avx512vl") => 32,
            _ if name.starts_with("avx512") => 64,
            _ => 16,
        };
        (name, 2 * register)
    })
}

#[test]
fn what_is_left_is_what_was_spilled() {
    let key = Secrets::new([KEY.to_vec(), derived_key().to_vec()].into_iter());
    for (backend, two_registers) in backends() {
        let _guard = cpu::force(&backend).expect("a backend of this machine");
        let calls = CALLS.iter().map(|call| (call, false));
        for (Call { name, run, refused }, moved) in
            calls.chain(STEPWISE.iter().map(|call| (call, true)))
        {
            let mut most = [Found::default(), Found::default()];
            for len in [0, 40, 64, 200, 448, 900, 1350, 5000] {
                let keystream = Secrets::new((0..PACKETS).flat_map(|i| keystreams(i, len)));
                let plaintext = Secrets::new((0..PACKETS).map(|i| plaintext(i, len)));
                let secrets = [&keystream, &key, &plaintext];
                let [keystream, key, plaintext] = leftovers(*run, Work::new(len), secrets);
                let case = format!("{backend}: {name}: length {len}");
                assert!(keystream.longest <= two_registers, "{case}: keystream: {keystream:?}");
                // Where a register is short, half a key in a piece is the most.
                let most_of_a_key = if two_registers <= 32 && !moved { 16 } else { 32 };
                assert!(key.longest <= most_of_a_key, "{case}: key: {key:?}");
                if *refused {
                    assert_eq!(plaintext.words, 0, "{case}: plaintext");
                }
                for (most, found) in most.iter_mut().zip([keystream, key]) {
                    most.longest = most.longest.max(found.longest);
                    most.words = most.words.max(found.words);
                }
            }
            let [keystream, key] = most;
            println!(
                "{backend:<16} {name:<26} spilled: keystream {:>3} words, longest {:>3} bytes; \
                 key {:>3} words, longest {:>2} bytes",
                keystream.words, keystream.longest, key.words, key.longest,
            );
        }
    }
}

/// A buffer that nobody wipes is found, whole.
#[test]
fn a_buffer_that_is_left_is_found() {
    let secrets = Secrets::new(keystreams(0, 200).into_iter());
    let leave = |work: &mut Work| {
        let mut buffer = [0; 264];
        buffer.copy_from_slice(&keystreams(0, 200)[1]);
        black_box(&mut buffer);
        work.out.clear();
    };
    let [found] = leftovers(leave, Work::new(200), [&secrets]);
    assert!(found.longest >= 264, "{found:?}");
}

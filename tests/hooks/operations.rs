//! Every public operation that has sections, as a function from a length to what it gives.

use core::ops::ControlFlow;

use keyspring::aead::{ChaCha20Poly1305, NonceSequence, Opener, Packet, Sealer, XChaCha20Poly1305};
use keyspring::chacha::{self, ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20};
use keyspring::crng::{Crng, EntropySource, Error, Policy, SeededCrng};
use keyspring::poly1305::{self, Poly1305};

/// Lengths on both sides of whatever the code branches on: blocks, passes, thresholds, sections.
pub(crate) const LENGTHS: [usize; 26] = [
    0, 1, 15, 16, 63, 64, 65, 128, 255, 256, 383, 384, 448, 449, 511, 512, 513, 1024, 1350, 4032,
    4095, 4096, 4097, 8192, 8193, 16_389,
];

#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) run: fn(usize) -> Vec<u8>,
}

impl Operation {
    /// The row that its sections run on.
    pub(crate) fn row(&self) -> &'static str {
        let report = keyspring::cpu::report();
        // NEON leaves a block by itself to scalar code.
        if self.name == "block" && report.chacha20() == "neon" {
            return "scalar";
        }
        if self.name.contains("mac") { report.poly1305() } else { report.chacha20() }
    }
}

const KEY: [u8; 32] = [7; 32];

/// Painted with period 251, once and for all: the tracer would step through it each time.
fn message(len: usize) -> Vec<u8> {
    static PAINTED: [u8; 40_000] = {
        let mut painted = [0; 40_000];
        let mut i = 0;
        while i < painted.len() {
            painted[i] = (i % 251) as u8;
            i += 1;
        }
        painted
    };
    PAINTED[..len].to_vec()
}

macro_rules! stream {
    ($cipher:ident, $nonce:literal) => {
        Operation {
            name: stringify!($cipher),
            run: |len| {
                let mut bytes = message(len);
                let mut cipher = $cipher::from_key(&KEY, &[3; $nonce]);
                cipher.apply_keystream(&mut bytes);
                // A block that a piece ends in the middle of is made again.
                cipher.apply_keystream(&mut bytes[..len.min(100)]);
                let mut keystream = [0; 64];
                cipher.write_keystream(&mut keystream);
                bytes.extend(keystream);
                bytes
            },
        }
    };
}

/// What a refused call leaves behind goes into the result as well.
macro_rules! aead {
    ($cipher:ident, $nonce:literal) => {
        [
            Operation {
                name: concat!(stringify!($cipher), " in place"),
                run: |len| {
                    let cipher = $cipher::from_key(&KEY);
                    let (nonce, aad) = ([3; $nonce], message(len % 293));
                    let mut bytes = message(len);
                    let tag = cipher.seal_in_place(&nonce, &aad, &mut bytes).unwrap();
                    let mut opened = bytes.clone();
                    cipher.open_in_place(&nonce, &aad, &mut opened, &[0; 16]).unwrap_err();
                    assert!(opened == bytes);
                    cipher.open_in_place(&nonce, &aad, &mut opened, &tag).unwrap();
                    assert!(opened == message(len));
                    bytes.extend(tag);
                    bytes
                },
            },
            Operation {
                name: concat!(stringify!($cipher), " into"),
                run: |len| {
                    let cipher = $cipher::from_key(&KEY);
                    let (nonce, aad) = ([3; $nonce], message(len % 293));
                    let mut sealed = vec![0; len + 16];
                    cipher.seal_into(&nonce, &aad, &message(len), &mut sealed[1..]).unwrap_err();
                    cipher.seal_into(&nonce, &aad, &message(len), &mut sealed).unwrap();
                    let mut opened = message(len);
                    cipher.open_into(&nonce, b"other", &sealed, &mut opened).unwrap_err();
                    assert!(opened.iter().all(|byte| *byte == 0));
                    cipher.open_into(&nonce, &aad, &sealed, &mut opened).unwrap();
                    assert!(opened == message(len));
                    sealed
                },
            },
            Operation {
                name: concat!(stringify!($cipher), " in steps"),
                run: |len| {
                    let cipher = $cipher::from_key(&KEY);
                    let (nonce, aad) = ([3; $nonce], message(len / 2));
                    let mut bytes = message(len);
                    let (go_on, stop) = (|_| ControlFlow::Continue(()), |_| ControlFlow::Break(()));
                    let _ = cipher.seal_in_place_with(&nonce, &aad, &mut bytes, stop).unwrap();
                    let mut bytes = message(len);
                    let sealed = cipher.seal_in_place_with(&nonce, &aad, &mut bytes, go_on);
                    let tag = sealed.unwrap().continue_value().expect("no checkpoint broke");
                    let mut opened = bytes.clone();
                    cipher
                        .open_in_place_with(&nonce, &aad, &mut opened, &[0; 16], go_on)
                        .unwrap_err();
                    assert!(opened == bytes);
                    let whole =
                        cipher.open_in_place_with(&nonce, &aad, &mut opened, &tag, go_on).unwrap();
                    assert!(whole.is_continue() && opened == message(len));
                    bytes.extend(tag);
                    bytes
                },
            },
            Operation {
                name: concat!(stringify!($cipher), " batch"),
                run: |len| {
                    let cipher = $cipher::from_key(&KEY);
                    let aad = message(len % 293);
                    let mut bytes: Vec<_> = (0..5).map(|i| message(len / (i + 1))).collect();
                    let packet = |(i, in_out)| Packet {
                        nonce: [i; $nonce],
                        aad: &aad,
                        in_out,
                        tag: [0; 16],
                    };
                    let messages = bytes.iter_mut().map(Vec::as_mut_slice);
                    let mut packets: Vec<_> = (0..).zip(messages).map(packet).collect();
                    cipher.seal_batch(&mut packets).unwrap();
                    let mut sealed = Vec::new();
                    for packet in &packets {
                        sealed.extend_from_slice(packet.in_out);
                        sealed.extend(packet.tag);
                    }
                    packets[2].tag[0] ^= 1;
                    assert_eq!(cipher.open_batch(&mut packets, &mut [false; 5]), Ok(4));
                    drop(packets);
                    assert!(bytes[0] == message(len) && bytes[4] == message(len / 5));
                    sealed
                },
            },
            Operation {
                name: concat!(stringify!($cipher), " gathered"),
                run: |len| {
                    let (head, tail) = (message(len / 3), message(len - len / 3));
                    let mut sealed = vec![0; len + 16];
                    $cipher::from_key(&KEY)
                        .seal_gather(&[3; $nonce], &[b"a", b"b"], &[&head, &tail], &mut sealed)
                        .unwrap();
                    sealed
                },
            },
        ]
    };
}

const STREAMS: [Operation; 5] = [
    stream!(ChaCha20, 12),
    stream!(ChaCha12, 12),
    stream!(ChaCha8, 12),
    stream!(XChaCha20, 24),
    stream!(ChaCha20Legacy, 8),
];

const OTHERS: [Operation; 5] = [
    Operation { name: "block", run: |len| chacha::block(&KEY, len as u32, &[3; 12]).into() },
    Operation { name: "mac", run: |len| poly1305::mac(&KEY, &message(len)).into() },
    Operation {
        name: "mac in pieces",
        run: |len| {
            let mut mac = Poly1305::from_key(&KEY);
            message(len).chunks(1001).for_each(|piece| mac.update(piece));
            assert!(mac.clone().verify(&[0; 16]).is_err());
            mac.finalize().into()
        },
    },
    Operation { name: "in sequence", run: in_sequence },
    Operation { name: "generators", run: generators },
];

/// Packets under a nonce sequence, one of them forged.
fn in_sequence(len: usize) -> Vec<u8> {
    let mut sealer = Sealer::new(&KEY, NonceSequence::CounterLittleEndian);
    let mut opener = Opener::new(&KEY, NonceSequence::CounterLittleEndian);
    let mut sealed = Vec::new();
    for piece in message(len).chunks(len.div_ceil(9).max(1)) {
        let mut bytes = piece.to_vec();
        let (number, tag) = sealer.seal_next(b"aad", &mut bytes).unwrap();
        sealed.extend_from_slice(&bytes);
        sealed.extend(tag);
        opener.open(number, b"other", &mut bytes, &tag).unwrap_err();
        opener.open(number, b"aad", &mut bytes, &tag).unwrap();
        assert!(bytes == piece);
    }
    sealed
}

pub(crate) fn operations() -> impl Iterator<Item = Operation> {
    let aead = aead!(ChaCha20Poly1305, 12).into_iter().chain(aead!(XChaCha20Poly1305, 24));
    STREAMS.into_iter().chain(OTHERS).chain(aead)
}

/// The seeded one, and strict ones over an entropy source that fails now and then. Of the standard
/// ones and the free functions the bytes count for nothing: the time goes into their seeds.
fn generators(len: usize) -> Vec<u8> {
    struct Counting(u8);

    impl EntropySource for Counting {
        fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
            self.0 += 1;
            if self.0.is_multiple_of(2) {
                return Err(Error::SOURCE);
            }
            dst.iter_mut().zip(self.0..).for_each(|(byte, value)| *byte = value);
            Ok(())
        }
    }

    let mut bytes = message(2 * len);
    let (seeded, owned) = bytes.split_at_mut(len);
    SeededCrng::from_seed(KEY).fill(seeded);
    for policy in [Policy::Standard, Policy::Strict] {
        let builder = Crng::builder().source(Counting(0)).policy(policy);
        let mut crng = builder.build().expect("its first answer is good");
        crng.reseed().unwrap_err();
        crng.try_fill(owned).expect("it is seeded, or the next answer is good again");
    }
    keyspring::crng::fill(&mut message(len));
    let filled = keyspring::crng::fill_with(&mut message(len), |_| ControlFlow::Continue(()));
    assert!(filled.is_continue());
    bytes
}

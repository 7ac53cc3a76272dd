//! What a peer is asked to do, and the loops that time it.
//!
//! The timed loops are default methods, so that each is compiled with its peer's call inside it: a
//! call through a pointer happens once per slice, never once per message.

use core::hint::black_box;

use crate::clock::ticks;

/// The additional data of every sealed message: 13 bytes, as TLS 1.2 has them.
pub const AAD: [u8; 13] = *b"keyspring aad";

/// The key of every cipher that is timed.
pub const KEY: [u8; 32] = [0x5a; 32];

/// The ChaCha20 stream cipher of RFC 8439 under [`KEY`], from block 0 on.
pub trait ChaCha20 {
    /// Xors the keystream of `nonce` into `data`.
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]);

    /// Times `calls` messages, a fresh nonce each.
    fn time_xor(&mut self, calls: u64, data: &mut [u8]) -> u64 {
        timed(calls, |number| with_nonce(number, |nonce| self.xor(nonce, black_box(&mut *data))))
    }
}

/// The Poly1305 one-time authenticator.
pub trait Poly1305 {
    /// The tag of `message` under the one-time key.
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16];

    /// Times `calls` tags, the key set up in each call.
    fn time_mac(&mut self, calls: u64, message: &[u8]) -> u64 {
        timed(calls, |_| {
            black_box(self.mac(black_box(&KEY), black_box(message)));
        })
    }
}

/// The AEAD of RFC 8439, in place, the tag apart.
pub trait Aead {
    /// Sets up the key.
    fn set_key(&mut self, key: &[u8; 32]);

    /// Turns the plaintext in `data` into ciphertext and returns the tag.
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16];

    /// Turns the ciphertext in `data` into plaintext, or says `false` to a forgery.
    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool;

    /// Seals every packet. A library that can do several at a time says so here.
    fn seal_batch(&mut self, packets: &mut [Packet; BATCH]) {
        for packet in packets {
            packet.tag = self.seal(&packet.nonce, &AAD, &mut packet.data);
        }
    }

    /// Opens packets as long as they are genuine, and tells whether all were.
    fn open_batch(&mut self, packets: &mut [Packet; BATCH]) -> bool {
        packets
            .iter_mut()
            .all(|packet| self.open(&packet.nonce, &AAD, &mut packet.data, &packet.tag))
    }

    /// Seals message `number` of a sequence, its nonce made as TLS 1.3 and QUIC make it. A library
    /// that owns its sequence says so here.
    fn seal_next(&mut self, number: u64, data: &mut [u8]) -> [u8; 16] {
        let mut nonce = [0x36; 12];
        for (byte, mask) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= mask;
        }
        black_box(&nonce);
        self.seal(&nonce, &AAD, data)
    }

    /// Times `calls` messages sealed under fresh nonces.
    fn time_seal(&mut self, calls: u64, data: &mut [u8]) -> u64 {
        timed(calls, |number| {
            with_nonce(number, |nonce| {
                black_box(self.seal(nonce, black_box(&AAD), black_box(&mut *data)));
            });
        })
    }

    /// Times `calls` messages sealed under fresh nonces, the key set up in each call.
    fn time_seal_with_key(&mut self, calls: u64, data: &mut [u8]) -> u64 {
        timed(calls, |number| {
            with_nonce(number, |nonce| {
                self.set_key(black_box(&KEY));
                black_box(self.seal(nonce, black_box(&AAD), black_box(&mut *data)));
            });
        })
    }

    /// Times `calls` messages of which each has to wait for the tag of the one before, since that
    /// is part of its nonce.
    fn time_seal_latency(&mut self, calls: u64, data: &mut [u8]) -> u64 {
        let mut last = 0_u64;
        timed(calls, |number| {
            with_nonce(number ^ last, |nonce| {
                let tag = self.seal(nonce, black_box(&AAD), black_box(&mut *data));
                last = u64::from_le_bytes(tag[..8].try_into().expect("8 of 16 bytes"));
            });
        })
    }

    /// Times `calls` messages opened.
    fn time_open(&mut self, calls: u64, work: &mut Sealed) -> u64 {
        work.time_each(calls, |number, data, tag| {
            with_nonce(number, |nonce| self.open(nonce, black_box(&AAD), data, tag))
        })
    }

    /// Times `calls` messages opened, the key set up in each call.
    fn time_open_with_key(&mut self, calls: u64, work: &mut Sealed) -> u64 {
        work.time_each(calls, |number, data, tag| {
            with_nonce(number, |nonce| {
                self.set_key(black_box(&KEY));
                self.open(nonce, black_box(&AAD), data, tag)
            })
        })
    }

    /// Times `batches` calls of [`Aead::seal_batch`].
    fn time_seal_batch(&mut self, batches: u64, packets: &mut [Packet; BATCH]) -> u64 {
        let mut number = 0;
        timed(batches, |_| {
            for packet in packets.iter_mut() {
                packet.nonce[4..].copy_from_slice(&u64::to_le_bytes(number));
                number += 1;
            }
            self.seal_batch(black_box(&mut *packets));
        })
    }

    /// Times `batches` calls of [`Aead::open_batch`], the packets sealed anew in between.
    fn time_open_batch(&mut self, batches: u64, packets: &mut [Packet; BATCH]) -> u64 {
        let mut total = 0;
        for _ in 0..batches {
            self.seal_batch(packets);
            total += timed(1, |_| assert!(self.open_batch(black_box(&mut *packets))));
        }
        total
    }

    /// Times `calls` messages of a sequence.
    fn time_seal_next(&mut self, calls: u64, data: &mut [u8]) -> u64 {
        timed(calls, |number| {
            black_box(self.seal_next(number, black_box(&mut *data)));
        })
    }
}

/// A source of random bytes.
pub trait Random {
    /// Fills `dst`.
    fn fill(&mut self, dst: &mut [u8]);

    /// A random integer, where the source has a call of its own for it.
    fn u32(&mut self) -> Option<u32> {
        None
    }

    /// A random integer, where the source has a call of its own for it.
    fn u64(&mut self) -> Option<u64> {
        None
    }

    /// Makes a 32-byte key, shows it to a caller, and drops it.
    fn key_32(&mut self) {
        let mut key = [0; 32];
        self.fill(&mut key);
        black_box(&key);
    }

    /// Makes a 256-byte key, shows it to a caller, and drops it.
    fn key_256(&mut self) {
        let mut key = [0; 256];
        self.fill(&mut key);
        black_box(&key);
    }

    /// Times `calls` requests of `dst.len()` bytes.
    fn time_fill(&mut self, calls: u64, dst: &mut [u8]) -> u64 {
        timed(calls, |_| self.fill(black_box(&mut *dst)))
    }

    /// Times `calls` integers of 32 bits.
    fn time_u32(&mut self, calls: u64) -> u64 {
        timed(calls, |_| {
            black_box(self.u32());
        })
    }

    /// Times `calls` integers of 64 bits.
    fn time_u64(&mut self, calls: u64) -> u64 {
        timed(calls, |_| {
            black_box(self.u64());
        })
    }

    /// Times `calls` keys of 32 bytes.
    fn time_key_32(&mut self, calls: u64) -> u64 {
        timed(calls, |_| self.key_32())
    }

    /// Times `calls` keys of 256 bytes.
    fn time_key_256(&mut self, calls: u64) -> u64 {
        timed(calls, |_| self.key_256())
    }
}

/// Packets in a batch.
pub const BATCH: usize = 16;

/// One packet of a batch: plaintext or ciphertext in `data`.
pub struct Packet {
    /// Unique in its batch.
    pub nonce: [u8; 12],
    /// The message, in place.
    pub data: Vec<u8>,
    /// Written by sealing, read by opening.
    pub tag: [u8; 16],
}

/// Messages of one length, sealed under nonces 0, 1, 2, …, ready to be opened again and again:
/// opening happens in place, so the ciphertexts are put back, untimed, once all have been opened.
pub struct Sealed {
    length: usize,
    /// From one message to the next: the length rounded up to whole cache lines.
    stride: usize,
    pristine: Vec<u8>,
    work: Vec<u8>,
    tags: Vec<[u8; 16]>,
}

impl Sealed {
    /// The ciphertexts of one set: with their pristine copy they fit into a 32 KiB cache.
    const SET_BYTES: usize = 8192;
    /// So many messages that reading the clock around them costs nothing.
    const SET_MESSAGES: usize = 64;

    /// Seals one set of messages of `length` bytes.
    pub fn new(length: usize) -> Self {
        let stride = length.next_multiple_of(64);
        let messages = (Self::SET_BYTES / stride.max(1)).clamp(1, Self::SET_MESSAGES);
        let mut pristine = painted(messages * stride);
        let cipher = keyspring::aead::ChaCha20Poly1305::from_key(&KEY);
        let tags = (0..messages)
            .map(|number| {
                let data = &mut pristine[number * stride..][..length];
                with_nonce(number as u64, |nonce| cipher.seal_in_place(nonce, &AAD, data))
                    .expect("the message is short enough")
            })
            .collect();
        Self { length, stride, work: pristine.clone(), pristine, tags }
    }

    /// Times `calls` of `open`, which gets the number of a message, its ciphertext and its tag,
    /// and tells whether it was genuine.
    #[inline(always)]
    fn time_each(
        &mut self,
        calls: u64,
        mut open: impl FnMut(u64, &mut [u8], &[u8; 16]) -> bool,
    ) -> u64 {
        let (mut left, mut total, mut genuine) = (calls, 0, true);
        while left > 0 {
            self.work.copy_from_slice(&self.pristine);
            let set = left.min(self.tags.len() as u64);
            total += timed(set, |number| {
                let at = number as usize;
                let data = &mut self.work[at * self.stride..][..self.length];
                genuine &= open(number, black_box(data), &self.tags[at]);
            });
            left -= set;
        }
        assert!(genuine, "a genuine message was refused while timed");
        total
    }
}

/// Bytes painted with period 251.
pub fn painted(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Runs `operation` so many times, numbered from 0, and returns the ticks that passed.
#[inline(always)]
fn timed(calls: u64, mut operation: impl FnMut(u64)) -> u64 {
    let start = ticks();
    for number in 0..calls {
        operation(number);
    }
    ticks() - start
}

/// Builds a nonce as callers do, by a store of 4 bytes and one of 8, and hands it on in memory: an
/// implementation that loads it back in wider pieces waits for the stores, here as in real use.
#[inline(always)]
fn with_nonce<T>(number: u64, operation: impl FnOnce(&[u8; 12]) -> T) -> T {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(b"salt");
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    black_box(&nonce);
    operation(&nonce)
}

//! No kernel touches a byte outside its buffers: each lies against a page that may not be touched,
//! before it or behind it, at every length, on every backend.

#![cfg(target_os = "linux")]

use core::ops::ControlFlow;
use core::ptr;
use core::slice;

use keyspring::aead::{
    ChaCha20Poly1305, NonceSequence, Opener, Packet, Sealer, XChaCha20Poly1305, open_batch_keyed,
    seal_batch_keyed,
};
use keyspring::chacha::cipher::StreamCipher;
use keyspring::chacha::cipher::inout::InOutBuf;
use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20, block, hchacha20};
use keyspring::cpu;
use keyspring::crng::{Crng, SeededCrng};
use keyspring::poly1305::{Poly1305, mac};

/// Where a buffer lies between the two forbidden pages.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// It starts where the page before it ends.
    First,
    /// It ends where the page behind it starts.
    Last,
}

/// Memory between two pages that may not be touched.
struct Fenced {
    mapping: *mut u8,
    room: usize,
}

fn page_len() -> usize {
    // SAFETY: the call has no preconditions.
    let len = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(len).expect("the page size is known")
}

impl Fenced {
    fn new(room: usize) -> Self {
        let page = page_len();
        let room = room.next_multiple_of(page);
        // SAFETY: a new private mapping, anywhere, touches no memory that exists.
        let mapping = unsafe {
            libc::mmap(
                ptr::null_mut(),
                room + 2 * page,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(mapping, libc::MAP_FAILED);
        let mapping = mapping.cast::<u8>();
        // SAFETY: the pages are inside the mapping just made.
        let opened = unsafe {
            libc::mprotect(mapping.add(page).cast(), room, libc::PROT_READ | libc::PROT_WRITE)
        };
        assert_eq!(opened, 0);
        Self { mapping, room }
    }

    /// The first or the last `len` bytes, painted with period 251.
    fn buffer(&mut self, len: usize, side: Side) -> &mut [u8] {
        assert!(len <= self.room);
        let at = match side {
            Side::First => page_len(),
            Side::Last => page_len() + self.room - len,
        };
        // SAFETY: `at` and `len` are inside the part that may be touched, and `self` is borrowed.
        let buffer = unsafe { slice::from_raw_parts_mut(self.mapping.add(at), len) };
        for (i, byte) in buffer.iter_mut().enumerate() {
            *byte = (i % 251) as u8;
        }
        buffer
    }

    fn array<const N: usize>(&mut self, side: Side) -> &mut [u8; N] {
        self.buffer(N, side).try_into().expect("N bytes")
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.mapping.cast(), self.room + 2 * page_len()) };
    }
}

fn everywhere(longest: usize, mut check: impl FnMut(usize, Side)) {
    let mut backends = Vec::new();
    for backend in cpu::backends() {
        for tuning in ["plain", "zen5", "no-threshold"] {
            let _guard = cpu::force(&format!("{backend}+{tuning}")).expect("it is usable");
            for side in [Side::First, Side::Last] {
                (0..=longest).for_each(|len| check(len, side));
            }
        }
        backends.push(backend);
    }
    println!(
        "lengths 0 to {longest}, both sides, plain, tuned and without threshold, on {backends:?}"
    );
}

#[test]
fn keystream_stays_inside_its_buffers() {
    // Beyond the longest pass, which has 2048 bytes.
    let [mut key, mut nonce, mut data, mut copy] = [32, 24, 2200, 2200].map(Fenced::new);
    everywhere(2200, |len, side| {
        let (data, copy) = (data.buffer(len, side), copy.buffer(len, side));
        let (key, nonce) = (key.array::<32>(side), nonce.array::<24>(side));
        let short: &[u8; 12] = nonce.last_chunk().expect("12 of 24");
        ChaCha20::from_key(key, short).apply_keystream(data);
        ChaCha20::from_key(key, short)
            .apply_keystream_inout(InOutBuf::new(data, copy).expect("as long"));
        let painted = (0..len).map(|i| (i % 251) as u8);
        assert!(copy.iter().copied().eq(painted.clone()), "{len} {side:?}");
        ChaCha20::from_key(key, short).apply_keystream(data);
        assert!(data.iter().copied().eq(painted), "{len} {side:?}");
        ChaCha20Legacy::from_key(key, nonce.first_chunk().expect("8 of 24")).write_keystream(data);
    });
}

/// The other ciphers run the same kernels: some lengths will do.
#[test]
fn keys_and_nonces_are_read_where_they_lie() {
    let [mut key, mut nonce, mut data] = [32, 24, 300].map(Fenced::new);
    everywhere(300, |len, side| {
        let (key, data) = (key.array::<32>(side), data.buffer(len, side));
        let long = nonce.array::<24>(side);
        XChaCha20::from_key(key, long).apply_keystream(data);
        let short = nonce.array::<12>(side);
        ChaCha12::from_key(key, short).apply_keystream(data);
        ChaCha8::from_key(key, short).write_keystream(data);
        let mut first = [0; 64];
        ChaCha20::from_key(key, short).write_keystream(&mut first);
        assert_eq!(block(key, 0, short), first);
        assert_ne!(hchacha20(key, nonce.array::<16>(side)), [0; 32]);
    });
}

#[test]
fn tags_are_computed_inside_the_message() {
    let [mut key, mut message, mut tag] = [32, 1100, 16].map(Fenced::new);
    everywhere(1100, |len, side| {
        let (key, tag) = (key.array(side), tag.array(side));
        let message = message.buffer(len, side);
        *tag = mac(key, message);
        let copy: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let key_copy: [u8; 32] = core::array::from_fn(|i| i as u8);
        assert_eq!(*tag, mac(&key_copy, &copy), "{len} {side:?}");
        let mut pieces = Poly1305::from_key(key);
        pieces.update(&message[..len / 3]);
        pieces.update(&message[len / 3..]);
        assert_eq!(pieces.verify(tag), Ok(()), "{len} {side:?}");
    });
}

/// All ways of a cipher, in which the nonce has so many bytes.
macro_rules! seals_and_opens {
    ($cipher:ident, $nonce:literal) => {{
        let [mut key, mut nonce, mut aad, mut message, mut tag, mut sealed, mut opened] =
            [32, $nonce, 1100, 1100, 16, 1116, 1100].map(Fenced::new);
        everywhere(1100, |len, side| {
            let nonce = nonce.array::<$nonce>(side);
            let aad = aad.buffer(len % 293, side);
            let message = message.buffer(len, side);
            let cipher = $cipher::from_key(key.array(side));

            let sealed = sealed.buffer(len + 16, side);
            cipher.seal_into(nonce, aad, message, sealed).expect("the lengths fit");
            let opened = opened.buffer(len, side);
            cipher.open_into(nonce, aad, sealed, opened).expect("the tag is right");
            assert_eq!(opened, message, "{len}");
            let parts = message.split_at(len / 3);
            sealed.fill(0);
            cipher
                .seal_gather(nonce, &[aad], &[parts.0, parts.1], sealed)
                .expect("the lengths fit");

            let tag = tag.array(side);
            *tag = cipher.seal_in_place(nonce, aad, message).expect("it is short enough");
            assert_eq!((&*message, &*tag), sealed.split_last_chunk().expect("a tag"), "{len}");
            cipher.open_in_place(nonce, aad, message, &[0; 16]).expect_err("the tag is wrong");
            cipher.open_in_place(nonce, aad, message, tag).expect("the tag is right");
            assert_eq!(opened, message, "{len}");
            sealed[len] ^= 1;
            cipher.open_into(nonce, aad, sealed, opened).expect_err("the tag is wrong");
            assert!(opened.iter().all(|byte| *byte == 0), "{len}");
        });
    }};
}

#[test]
fn sealing_and_opening_stay_inside_their_buffers() {
    seals_and_opens!(ChaCha20Poly1305, 12);
}

#[test]
fn sealing_and_opening_with_long_nonces_stay_inside_their_buffers() {
    seals_and_opens!(XChaCha20Poly1305, 24);
}

#[test]
fn batches_stay_inside_their_buffers() {
    const PACKETS: usize = 5;
    let mut aads = [(); PACKETS].map(|()| Fenced::new(1100));
    let mut messages = [(); PACKETS].map(|()| Fenced::new(1100));
    let mut key = Fenced::new(32);
    everywhere(1100, |len, side| {
        let cipher = ChaCha20Poly1305::from_key(key.array(side));
        // Neighbours of one length, and others.
        let lens = [len, len, 1100 - len, len / 2, len.saturating_sub(1)];
        let mut buffers = aads.iter_mut().zip(&mut messages).zip(lens);
        let mut packets: [Packet<'_>; PACKETS] = core::array::from_fn(|i| {
            let ((aad, message), len) = buffers.next().expect("one for each");
            let aad = aad.buffer(len % 97, side);
            Packet { nonce: [i as u8; 12], aad, in_out: message.buffer(len, side), tag: [0; 16] }
        });
        cipher.seal_batch(&mut packets).expect("they are short enough");
        let mut ok = [false; PACKETS];
        assert_eq!(cipher.open_batch(&mut packets, &mut ok), Ok(PACKETS), "{len} {side:?}");
        for packet in &packets {
            assert!((0..).zip(&*packet.in_out).all(|(i, byte)| *byte == (i % 251) as u8), "{len}");
        }

        let mut sealer = Sealer::new(key.array(side), NonceSequence::CounterLittleEndian);
        sealer.seal_next_batch(&mut packets).expect("they are short enough");
        let mut keyed = packets.map(|packet| (&cipher, packet));
        assert_eq!(open_batch_keyed(&mut keyed, &mut ok), Ok(PACKETS), "{len} {side:?}");
        seal_batch_keyed(&mut keyed).expect("they are short enough");
        let cipher = XChaCha20Poly1305::from_key(key.array(side));
        let mut extended = keyed.map(|(_, packet)| Packet {
            nonce: [packet.nonce[0]; 24],
            aad: packet.aad,
            in_out: packet.in_out,
            tag: [0; 16],
        });
        cipher.seal_batch(&mut extended).expect("they are short enough");
        assert_eq!(cipher.open_batch(&mut extended, &mut ok), Ok(PACKETS), "{len} {side:?}");
    });
}

#[test]
fn sequences_and_steps_stay_inside_their_buffers() {
    let [mut key, mut aad, mut message, mut tag] = [32, 1100, 1100, 16].map(Fenced::new);
    everywhere(1100, |len, side| {
        let (key, aad) = (key.array(side), aad.buffer(len % 97, side));
        let message = message.buffer(len, side);
        let tag = tag.array(side);
        let sequence = NonceSequence::XorBigEndian([7; 12]);
        let (mut sealer, mut opener) = (Sealer::new(key, sequence), Opener::new(key, sequence));
        for _ in 0..3 {
            let (number, sealed) = sealer.seal_next(aad, message).expect("it is short enough");
            *tag = sealed;
            opener.open(number, aad, message, tag).expect("the tag is right");
        }
        let cipher = ChaCha20Poly1305::from_key(key);
        let sealed =
            cipher.seal_in_place_with(&[1; 12], aad, message, |_| ControlFlow::Continue(()));
        *tag = sealed.expect("it is short enough").continue_value().expect("nothing broke");
        let opened =
            cipher.open_in_place_with(&[1; 12], aad, message, tag, |_| ControlFlow::Continue(()));
        assert_eq!(opened, Ok(ControlFlow::Continue(())), "{len} {side:?}");
        assert!((0..).zip(&*message).all(|(i, byte)| *byte == (i % 251) as u8), "{len} {side:?}");
    });
}

#[test]
fn random_bytes_stay_inside_their_buffer() {
    let mut dst = Fenced::new(1100);
    let mut owned = Crng::new().expect("there is entropy");
    everywhere(1100, |len, side| {
        SeededCrng::from_seed([7; 32]).fill(dst.buffer(len, side));
        keyspring::crng::fill(dst.buffer(len, side));
        owned.try_fill(dst.buffer(len, side)).expect("there is entropy");
        let filled =
            keyspring::crng::fill_with(dst.buffer(len, side), |_| ControlFlow::Continue(()));
        assert_eq!(filled, ControlFlow::Continue(()), "{len} {side:?}");
    });
}

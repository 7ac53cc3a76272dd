//! Do keys survive in memory that their owner has given back?
//!
//! Each value lies on the stack under a known key and is dropped. Then its place, which is nobody's
//! any more, is read through the operating system. To the compiler, what is stored just before a
//! function returns is never read: stores that it may remove, it removes, as the first line of the
//! output shows.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;

use keyspring::aead::{ChaCha20Poly1305, NonceSequence, Opener, Sealer, XChaCha20Poly1305};
use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy};
use keyspring::crng::{SeededCrng, SessionKey};
use keyspring::poly1305::Poly1305;

/// 32 bytes, all different.
const KEY: [u8; 32] = {
    let mut key = [0; 32];
    let mut i = 0;
    while i < key.len() {
        key[i] = 0xa0 ^ (7 * i) as u8;
        i += 1;
    }
    key
};

/// Where a value lay.
struct Place {
    address: usize,
    len: usize,
}

impl Place {
    fn of<T>(value: &T) -> Self {
        Self { address: black_box(&raw const *value) as usize, len: size_of::<T>() }
    }

    /// How many of the key's eight four-byte parts lie there.
    #[inline(never)]
    fn parts_of_the_key(&self) -> usize {
        let mut bytes = vec![0; self.len];
        let memory = File::open("/proc/self/mem").expect("this process's memory");
        memory.read_exact_at(&mut bytes, self.address as u64).expect("the place is mapped");
        KEY.chunks(4).filter(|part| bytes.windows(4).any(|window| window == *part)).count()
    }
}

/// Calls `hold` far down the stack, so that nothing else gets to where its values lay, and counts
/// the key's parts in the place that it returns.
#[inline(never)]
fn after(hold: fn() -> (Place, usize)) -> (usize, usize) {
    // Padding holds what lay there before: not a key of the value before this one.
    #[inline(never)]
    fn sweep() {
        black_box([0_u8; 1 << 14]);
    }

    #[inline(never)]
    fn far_down(hold: fn() -> (Place, usize)) -> (Place, usize) {
        let room = [0_u8; 1 << 16];
        black_box(&room);
        sweep();
        let result = black_box(hold)();
        black_box(&room);
        result
    }
    let (place, before) = far_down(hold);
    (before, place.parts_of_the_key())
}

/// A function that makes a value and drops it.
macro_rules! held {
    ($value:expr) => {
        || {
            let value = $value;
            let place = Place::of(&value);
            let before = place.parts_of_the_key();
            (place, before)
        }
    };
}

/// What a program does that knows no better: the key, set to zero in the end.
fn plain_array() -> (Place, usize) {
    let mut bytes = black_box(KEY);
    let place = Place::of(&bytes);
    let before = place.parts_of_the_key();
    bytes.fill(0);
    (place, before)
}

fn main() {
    let (before, left) = after(plain_array);
    println!("a plain array that is set to zero: {before} parts of the key, {left} in the end");
    assert_eq!((before, left), (8, 8), "this program can't tell whether stores were removed");

    let mut kept = 0;
    let mut check = |name: &str, hold: fn() -> (Place, usize)| {
        let (before, left) = after(hold);
        println!("{name}: {before} parts of the key, {left} in the end");
        kept += usize::from(before == 0 || left != 0);
    };
    check("SessionKey<32>", held!(SessionKey::from(KEY)));
    check("SessionKey<256>", held!(SessionKey::<256>::try_from([KEY; 8].as_flattened())));
    check("ChaCha20Poly1305", held!(ChaCha20Poly1305::from_key(&KEY)));
    check("XChaCha20Poly1305", held!(XChaCha20Poly1305::from_key(&KEY)));
    const SEQUENCE: NonceSequence = NonceSequence::XorBigEndian([0; 12]);
    check("Sealer", held!(Sealer::new(&KEY, SEQUENCE)));
    check("Opener", held!(Opener::new(&KEY, SEQUENCE)));
    check("SeededCrng", held!(SeededCrng::from_seed(KEY)));
    check("ChaCha20", held!(ChaCha20::from_key(&KEY, &[0; 12])));
    check("ChaCha12", held!(ChaCha12::from_key(&KEY, &[0; 12])));
    check("ChaCha8", held!(ChaCha8::from_key(&KEY, &[0; 12])));
    check("ChaCha20Legacy", held!(ChaCha20Legacy::from_key(&KEY, &[0; 8])));
    check("Poly1305", held!(Poly1305::from_key(&KEY)));
    assert_eq!(kept, 0, "of these kept the key, or never held it");
}

//! Which types may cross threads, be copied or be cloned.

use keyspring::aead::{self, ChaCha20Poly1305, XChaCha20Poly1305};
use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, Exhausted, XChaCha20};
use keyspring::cpu::{Report, SelfTest};
use keyspring::crng::{
    self, Builder, Crng, Mode, Policy, SeededCrng, SessionKey, Split, SystemEntropy, ThreadCrng,
};
use keyspring::poly1305::{self, Poly1305};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use zeroize::{Zeroize, ZeroizeOnDrop};

macro_rules! ciphers {
    ($($cipher:ty)*) => {$(
        assert_impl_all!($cipher: Clone, Send, Sync, Unpin, core::fmt::Debug, ZeroizeOnDrop);
        assert_not_impl_any!($cipher: Copy, PartialEq, core::fmt::Display);
    )*};
}

ciphers!(ChaCha20 ChaCha12 ChaCha8 XChaCha20 ChaCha20Legacy Poly1305);
ciphers!(ChaCha20Poly1305 XChaCha20Poly1305);

assert_impl_all!(SessionKey: Send, Sync, Unpin, core::fmt::Debug, Eq, Zeroize, ZeroizeOnDrop);
assert_not_impl_any!(SessionKey: Clone, Copy, Ord, core::hash::Hash, core::fmt::Display, AsMut<[u8]>);
assert_impl_all!(Split<256, 32>: Send, Sync, ExactSizeIterator);
assert_not_impl_any!(Split<256, 32>: Clone);

assert_impl_all!(Crng: Send, Sync, Unpin, core::fmt::Debug, ZeroizeOnDrop);
assert_not_impl_any!(Crng: Clone);
assert_impl_all!(SeededCrng: Send, Sync, Unpin, core::fmt::Debug, ZeroizeOnDrop);
assert_not_impl_any!(SeededCrng: Clone);
assert_impl_all!(ThreadCrng: Copy, core::fmt::Debug);
assert_not_impl_any!(ThreadCrng: Send, Sync);

assert_impl_all!(SystemEntropy: Copy, Send, Sync);
assert_impl_all!(Builder: Clone, Send, Sync);
assert_impl_all!(Policy: Copy, Send, Sync);
assert_impl_all!(Mode: Copy, Send, Sync);
assert_impl_all!(Report: Copy, Send, Sync, core::fmt::Display);
assert_impl_all!(SelfTest: Copy, Send, Sync, core::fmt::Display);

macro_rules! errors {
    ($($error:ty)*) => {$(
        assert_impl_all!($error: Copy, Eq, Send, Sync, core::error::Error);
    )*};
}

errors!(aead::Error Exhausted poly1305::Error crng::Error keyspring::cpu::UnknownBackend);

/// The numbers and bytes of a generator behind the traits are those of its own methods.
#[test]
fn the_generators_are_those_of_rand_core() {
    fn drawn<R: rand_core::TryCryptoRng>(mut rng: R) -> (u32, u64, [u8; 5]) {
        let mut bytes = [0; 5];
        let numbers = (rng.try_next_u32(), rng.try_next_u64());
        rng.try_fill_bytes(&mut bytes).expect("there is entropy");
        (numbers.0.expect("there is entropy"), numbers.1.expect("there is entropy"), bytes)
    }
    fn never_fails<R: rand_core::CryptoRng>(mut rng: R) -> (u32, u64, [u8; 5]) {
        let mut bytes = [0; 5];
        let numbers = (rng.next_u32(), rng.next_u64());
        rng.fill_bytes(&mut bytes);
        (numbers.0, numbers.1, bytes)
    }
    let mut own = SeededCrng::from_seed([1; 32]);
    let expected = (own.u32(), own.u64(), own.bytes());
    let seeded = || <SeededCrng as rand_core::SeedableRng>::from_seed([1; 32]);
    assert_eq!((drawn(seeded()), never_fails(seeded())), (expected, expected));
    assert_ne!(drawn(crng::thread()), never_fails(crng::thread()));
    let mut owned = Crng::new().expect("there is entropy");
    assert_ne!(drawn(&mut owned), drawn(&mut owned));
    let failing = Crng::builder().policy(Policy::Strict).source(Failing(Some(())));
    let mut failing = failing.build().expect("the source works once");
    assert_eq!(rand_core::TryRng::try_next_u32(&mut failing), Err(crng::Error::SOURCE));
    assert_eq!(rand_core::TryRng::try_next_u64(&mut failing), Err(crng::Error::SOURCE));
    let filled = rand_core::TryRng::try_fill_bytes(&mut failing, &mut [0; 8]);
    assert_eq!(filled, Err(crng::Error::SOURCE));
}

/// A source that fails from the second time on.
struct Failing(Option<()>);

impl crng::EntropySource for Failing {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), crng::Error> {
        crng::fill(dst);
        self.0.take().ok_or(crng::Error::SOURCE)
    }
}

/// The numbers and bytes of a generator behind the older traits are those of its own methods.
#[test]
fn the_generators_are_those_of_older_rand_core() {
    use rand_core_09::TryRngCore;

    fn drawn_06<R: rand_core_06::CryptoRngCore>(mut rng: R) -> (u32, u64, [u8; 5], [u8; 3]) {
        let (mut bytes, mut more) = ([0; 5], [0; 3]);
        let numbers = (rng.next_u32(), rng.next_u64());
        rng.fill_bytes(&mut bytes);
        rng.try_fill_bytes(&mut more).expect("there is entropy");
        (numbers.0, numbers.1, bytes, more)
    }
    fn drawn_09<R: rand_core_09::CryptoRng>(mut rng: R) -> (u32, u64, [u8; 5], [u8; 3]) {
        let (mut bytes, mut more) = ([0; 5], [0; 3]);
        let numbers = (rng.next_u32(), rng.next_u64());
        rng.fill_bytes(&mut bytes);
        rng.fill_bytes(&mut more);
        (numbers.0, numbers.1, bytes, more)
    }
    let mut own = SeededCrng::from_seed([1; 32]);
    let expected = (own.u32(), own.u64(), own.bytes(), own.bytes());
    let seed = [1; 32];
    assert_eq!(drawn_06(<SeededCrng as rand_core_06::SeedableRng>::from_seed(seed)), expected);
    assert_eq!(drawn_09(<SeededCrng as rand_core_09::SeedableRng>::from_seed(seed)), expected);
    assert_ne!(drawn_06(crng::thread()), drawn_06(crng::thread()));
    assert_ne!(drawn_09(crng::thread()), drawn_09(crng::thread()));

    let mut owned = Crng::new().expect("there is entropy");
    assert_ne!(drawn_06(&mut owned), drawn_06(&mut owned));
    assert_ne!(TryRngCore::try_next_u64(&mut owned), TryRngCore::try_next_u64(&mut owned));
    let strict = Crng::builder().policy(Policy::Strict).source(Failing(Some(())));
    let mut failing = strict.build().expect("the source works once");
    assert!(rand_core_06::RngCore::try_fill_bytes(&mut failing, &mut [0; 8]).is_err());
    assert_eq!(TryRngCore::try_next_u32(&mut failing), Err(crng::Error::SOURCE));
    assert_eq!(TryRngCore::try_fill_bytes(&mut failing, &mut [0; 8]), Err(crng::Error::SOURCE));
}

#[test]
fn sizes_do_not_grow_unseen() {
    assert_eq!(size_of::<SessionKey>(), 256);
    assert_eq!(size_of::<SessionKey<32>>(), 32);
    assert_eq!(size_of::<aead::Error>(), 0);
    assert_eq!(size_of::<ThreadCrng>(), 0);
    assert!(size_of::<ChaCha20Poly1305>() <= 80);
}

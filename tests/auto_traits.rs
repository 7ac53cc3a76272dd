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

#[test]
fn the_generators_are_those_of_rand_core() {
    fn generator<R: rand_core::CryptoRng>(mut rng: R) -> u64 {
        rng.next_u64()
    }
    fn fallible<R: rand_core::TryCryptoRng>(mut rng: R) -> u64 {
        rng.try_next_u64().expect("there is entropy")
    }
    generator(crng::thread());
    fallible(Crng::new().expect("there is entropy"));
    let seeded = <SeededCrng as rand_core::SeedableRng>::from_seed([1; 32]);
    assert_eq!(generator(seeded), SeededCrng::from_seed([1; 32]).u64());
}

#[test]
fn sizes_do_not_grow_unseen() {
    assert_eq!(size_of::<SessionKey>(), 256);
    assert_eq!(size_of::<SessionKey<32>>(), 32);
    assert_eq!(size_of::<aead::Error>(), 0);
    assert_eq!(size_of::<ThreadCrng>(), 0);
    assert!(size_of::<ChaCha20Poly1305>() <= 80);
}

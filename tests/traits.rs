//! The traits of `aead` 0.5, `cipher` and `universal-hash`: each type behind them does what the
//! RustCrypto type of its name does, byte for byte, on every backend.

/// Lengths around a byte, a block and the passes of the kernels, and beyond a section.
const LENGTHS: [usize; 19] =
    [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 255, 256, 383, 384, 511, 512, 513, 1350, 70_000];

fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

fn on_every_backend(check: impl Fn(&str)) {
    for backend in keyspring::cpu::backends() {
        let _guard = keyspring::cpu::force(backend).expect("it is usable");
        check(backend);
    }
}

mod aead_05 {
    use chacha20poly1305_010 as peer;
    use keyspring::aead::aead_05::{Aead, AeadInPlace, Key, KeyInit, Nonce, OsRng, Payload};
    use keyspring::aead::{self, aead_05};

    use super::*;

    fn seals_as<Ours, Peer>()
    where
        Ours: KeyInit + Aead + AeadInPlace,
        Peer: KeyInit<KeySize = Ours::KeySize> + Aead<NonceSize = Ours::NonceSize>,
    {
        let mut key = Key::<Ours>::default();
        key.iter_mut().zip(1..).for_each(|(byte, i)| *byte = i);
        let mut nonce = Nonce::<Ours>::default();
        nonce.iter_mut().zip(101..).for_each(|(byte, i)| *byte = i);
        on_every_backend(|backend| {
            let (ours, peer) = (Ours::new(&key), Peer::new(&key));
            for len in LENGTHS {
                let (msg, aad) = (&painted(len)[..], &painted(len % 40)[..]);
                let sealed = ours.encrypt(&nonce, Payload { msg, aad }).expect("it is short");
                let expected = peer.encrypt(&nonce, Payload { msg, aad }).expect("it is short");
                assert!(sealed == expected, "{backend}, {len} bytes");

                let payload = Payload { msg: &sealed, aad };
                assert_eq!(ours.decrypt(&nonce, payload).expect("it opens"), msg, "{backend}");
                let mut forged = sealed.clone();
                forged[len / 2] ^= 1;
                let before = forged.clone();
                ours.decrypt_in_place(&nonce, aad, &mut forged).expect_err("it is forged");
                assert!(forged == before, "{backend}, {len} bytes: touched");
            }
        });
    }

    #[test]
    fn seals_as_chacha20poly1305_does() {
        seals_as::<aead::ChaCha20Poly1305, peer::ChaCha20Poly1305>();
        seals_as::<aead::XChaCha20Poly1305, peer::XChaCha20Poly1305>();
    }

    #[test]
    fn keys_nonces_and_errors_of_the_old_traits_fit() {
        use keyspring::aead::aead_05::AeadCore;

        let cipher = aead::ChaCha20Poly1305::new(&aead::ChaCha20Poly1305::generate_key(OsRng));
        let nonce = <aead::ChaCha20Poly1305 as AeadCore>::generate_nonce(OsRng);
        let error: Box<dyn core::error::Error> =
            cipher.decrypt(&nonce, b"too short".as_slice()).expect_err("no tag").into();
        assert_eq!(error.to_string(), aead_05::Error.to_string());
    }
}

mod cipher {
    use keyspring::chacha::cipher::{Iv, Key, KeyIvInit, StreamCipher, StreamCipherSeek};
    use keyspring::chacha::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, XChaCha20};

    use super::*;

    trait Stream: KeyIvInit + StreamCipher + StreamCipherSeek {}
    impl<T: KeyIvInit + StreamCipher + StreamCipherSeek> Stream for T {}

    fn fresh<C: Stream>() -> C {
        let mut key = Key::<C>::default();
        key.iter_mut().zip(1..).for_each(|(byte, i)| *byte = i);
        let mut iv = Iv::<C>::default();
        iv.iter_mut().zip(101..).for_each(|(byte, i)| *byte = i);
        C::new(&key, &iv)
    }

    /// In place, apart, the keystream itself, and again from where a seek leads.
    fn run<C: Stream>(len: usize, seek: u64) -> [Vec<u8>; 4] {
        let message = painted(len);
        let mut cipher = fresh::<C>();
        let mut in_place = message.clone();
        cipher.apply_keystream(&mut in_place);
        let mut apart = vec![0xaa; len];
        cipher.apply_keystream_b2b(&message, &mut apart);
        let mut keystream = vec![0xaa; len];
        cipher.write_keystream(&mut keystream);
        assert_eq!(cipher.current_pos::<u64>(), 3 * len as u64);
        cipher.seek(seek);
        assert_eq!(cipher.current_pos::<u64>(), seek);
        let mut after = message;
        cipher.apply_keystream(&mut after);
        [in_place, apart, keystream, after]
    }

    fn streams_as<Ours: Stream, Peer: Stream>() {
        on_every_backend(|backend| {
            for len in LENGTHS {
                for seek in [0, 1, 63, 64, 65, 64 << 20, (64 << 20) + 100] {
                    let same = run::<Ours>(len, seek) == run::<Peer>(len, seek);
                    assert!(same, "{backend}, {len} bytes, from {seek}");
                }
            }
        });
    }

    #[test]
    fn streams_as_chacha20_does() {
        streams_as::<ChaCha20, chacha20::ChaCha20>();
        streams_as::<ChaCha12, chacha20::ChaCha12>();
        streams_as::<ChaCha8, chacha20::ChaCha8>();
        streams_as::<XChaCha20, chacha20::XChaCha20>();
        streams_as::<ChaCha20Legacy, chacha20::ChaCha20Legacy>();
    }

    #[test]
    fn the_end_is_an_error_before_a_byte_is_written() {
        let mut cipher = fresh::<ChaCha20>();
        cipher.seek((1_u64 << 38) - 10);
        let mut eleven = [7; 11];
        cipher.try_apply_keystream(&mut eleven).expect_err("ten bytes are left");
        cipher.try_write_keystream(&mut eleven).expect_err("ten bytes are left");
        assert_eq!(eleven, [7; 11]);
        cipher.check_remaining(10).expect("they are left");
        cipher.apply_keystream(&mut eleven[..10]);
        cipher.check_remaining(1).expect_err("none is left");
        assert_eq!(cipher.current_pos::<u64>(), 1 << 38);
    }

    #[test]
    fn positions_are_exact_in_every_integer() {
        let mut cipher = fresh::<XChaCha20>();
        for position in [0, 1, 64, i32::MAX as u64, u64::MAX] {
            cipher.try_seek(position).expect("it is in the keystream");
            assert_eq!(cipher.current_pos::<u128>(), u128::from(position));
            assert_eq!(cipher.try_current_pos::<i32>().ok(), i32::try_from(position).ok());
            assert_eq!(cipher.try_current_pos::<u32>().ok(), u32::try_from(position).ok());
        }
        cipher.try_seek(-1_i32).expect_err("it is before the keystream");
        cipher.try_seek(1_u128 << 64).expect_err("it is past the keystream");
        fresh::<ChaCha20>().try_seek((1_u64 << 38) + 1).expect_err("it is past the keystream");
        fresh::<ChaCha20>().try_seek(1_u64 << 38).expect("the end is no byte past it");
    }
}

mod universal_hash {
    use keyspring::poly1305::Poly1305;
    use keyspring::poly1305::universal_hash::array::Array;
    use keyspring::poly1305::universal_hash::common::BlockSizeUser;
    use keyspring::poly1305::universal_hash::consts::U16;
    use keyspring::poly1305::universal_hash::{
        Block, Key, KeyInit, UhfBackend, UhfClosure, UniversalHash,
    };

    use super::*;

    /// Takes in all blocks, side by side as far as they go.
    struct SideBySide<'a>(&'a [Array<u8, U16>]);

    impl BlockSizeUser for SideBySide<'_> {
        type BlockSize = U16;
    }

    impl UhfClosure for SideBySide<'_> {
        fn call<B: UhfBackend<BlockSize = U16>>(self, backend: &mut B) {
            let (groups, rest) = Array::slice_as_chunks(self.0);
            groups.iter().for_each(|group| backend.proc_par_blocks(group));
            rest.iter().for_each(|block| backend.proc_block(block));
        }
    }

    /// The tags of a message: at once, in two pieces, by a closure.
    fn tags<H: KeyInit + UniversalHash<BlockSize = U16>>(message: &[u8]) -> [Block<H>; 3] {
        let mut key = Key::<H>::default();
        key.iter_mut().zip(1..).for_each(|(byte, i)| *byte = i);
        let mut at_once = H::new(&key);
        at_once.update_padded(message);
        let (head, tail) = message.split_at(message.len() / 3);
        let mut in_two = H::new(&key);
        in_two.update_padded(head);
        in_two.update_padded(tail);
        let mut by_closure = H::new(&key);
        by_closure.update_with_backend(SideBySide(Array::slice_as_chunks(message).0));
        [at_once, in_two, by_closure].map(H::finalize)
    }

    #[test]
    fn hashes_as_poly1305_does() {
        on_every_backend(|backend| {
            for len in LENGTHS {
                let message = painted(len);
                let ours = tags::<Poly1305>(&message);
                assert_eq!(ours, tags::<poly1305::Poly1305>(&message), "{backend}, {len} bytes");
            }
        });
    }

    #[test]
    fn only_the_right_tag_verifies() {
        let hash = <Poly1305 as KeyInit>::new(&Key::<Poly1305>::from([7; 32]));
        let mut tag = UniversalHash::finalize(hash.clone());
        UniversalHash::verify(hash.clone(), &tag).expect("it is the tag");
        tag[15] ^= 0x80;
        UniversalHash::verify(hash, &tag).expect_err("a bit is wrong");
    }
}

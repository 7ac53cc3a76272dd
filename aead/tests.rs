//! Sealing and opening against the definition, and what a refused message leaves behind.

use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use proptest::prelude::*;

use super::*;
use crate::chacha::{ChaCha20, block, hchacha20};
use crate::cpu;
use crate::poly1305::mac;

const KEY: [u8; 32] = [0x42; 32];
const NONCE: [u8; 12] = [7, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

/// Every backend, and as they are tuned to Zen 5 the best with AVX-512, which has twice as many lanes
/// there, and AVX2.
pub(super) fn backends() -> impl Iterator<Item = String> {
    let avx512 = cpu::backends().find(|name| name.starts_with("avx512"));
    let tuned = avx512.into_iter().chain(cpu::backends().filter(|name| *name == "avx2"));
    cpu::backends().map(String::from).chain(tuned.map(|name| format!("{name}+zen5")))
}

pub(super) fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Numbers that are the same in each run (Knuth's MMIX generator).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// RFC 8439, section 2.8, out of the public parts: ciphertext, then tag.
fn definition(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], message: &[u8]) -> Vec<u8> {
    let one_time_key = *block(key, 0, nonce).first_chunk().unwrap();
    let mut sealed = message.to_vec();
    let mut cipher = ChaCha20::from_key(key, nonce);
    cipher.seek_to(64);
    cipher.apply_keystream(&mut sealed);
    let mut authenticated = aad.to_vec();
    authenticated.resize(aad.len().next_multiple_of(16), 0);
    authenticated.extend_from_slice(&sealed);
    authenticated.resize(authenticated.len().next_multiple_of(16), 0);
    authenticated.extend((aad.len() as u64).to_le_bytes());
    authenticated.extend((message.len() as u64).to_le_bytes());
    sealed.extend(mac(&one_time_key, &authenticated));
    sealed
}

/// Beside a wider ChaCha20 row, a fused one only costs: there is none then.
#[test]
fn a_fused_row_runs_beside_its_own_chacha20_row_alone() {
    let fused = if cfg!(target_pointer_width = "64") { ["avx2", "neon"] } else { [""; 2] };
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let report = cpu::report();
        let expected = fused.into_iter().find(|name| *name == report.chacha20());
        assert_eq!(report.fused(), expected, "{backend}");
        let cores = Cores::new();
        assert_eq!(cores.fused.map(backend::Fused::name), expected, "{backend}");
    }
}

#[test]
fn every_length_is_sealed_as_defined_and_opens_again() {
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let cipher = ChaCha20Poly1305::from_key(&KEY);
        for len in
            (0..=1100).chain([4032, 4095, 4096, 4097, 8192, 32_703, 32_704, 32_705, 32_768, 70_000])
        {
            let (message, aad) = (painted(len), painted(len % 293));
            let expected = definition(&KEY, &NONCE, &aad, &message);
            let case = format!("{backend} length {len}");

            let sealed = cipher.seal(&NONCE, &aad, &message).unwrap();
            assert_eq!(sealed, expected, "{case}");
            let mut out = vec![0xee; len + 16];
            cipher.seal_into(&NONCE, &aad, &message, &mut out).unwrap();
            assert_eq!(out, expected, "{case}");

            let (ciphertext, tag) = sealed.split_last_chunk().unwrap();
            let mut in_place = ciphertext.to_vec();
            cipher.open_in_place(&NONCE, &aad, &mut in_place, tag).unwrap();
            assert_eq!(in_place, message, "{case}");
            let mut out = vec![0xee; len];
            cipher.open_into(&NONCE, &aad, &sealed, &mut out).unwrap();
            assert_eq!(out, message, "{case}");
        }
    }
}

/// Where block 0 is woven into a pass of 32 blocks or of 16, or has one to itself; and where what is
/// left of a piece is less than such a pass.
#[test]
fn around_passes_and_pieces_every_backend_does_as_the_scalar_one() {
    let around_passes = [1472, 1984, 2496, 3008, (16 << 10) + 960];
    let lens: Vec<usize> = around_passes
        .into_iter()
        .flat_map(|len| len - 1..=len + 1)
        .chain((1..=64).map(|over| (32 << 10) + over))
        .collect();
    let aad = painted(13);
    let scalar: Vec<Vec<u8>> = {
        let _guard = cpu::force("scalar").unwrap();
        let cipher = ChaCha20Poly1305::from_key(&KEY);
        lens.iter().map(|len| cipher.seal(&NONCE, &aad, &painted(*len)).unwrap()).collect()
    };
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        let cipher = ChaCha20Poly1305::from_key(&KEY);
        for (len, expected) in lens.iter().zip(&scalar) {
            let (message, case) = (painted(*len), format!("{backend} length {len}"));
            assert_eq!(&cipher.seal(&NONCE, &aad, &message).unwrap(), expected, "{case}");
            let mut in_place = message.clone();
            let tag = cipher.seal_in_place(&NONCE, &aad, &mut in_place).unwrap();
            assert_eq!([&in_place[..], &tag[..]].concat(), *expected, "{case}");
            cipher.open_in_place(&NONCE, &aad, &mut in_place, &tag).unwrap();
            assert_eq!(in_place, message, "{case}");
            assert_eq!(cipher.open(&NONCE, &aad, expected).as_ref(), Ok(&message), "{case}");

            for at in [0, len / 2, len - 1, len + 15] {
                let mut forged = expected.clone();
                forged[at] ^= 0x10;
                assert_eq!(cipher.open(&NONCE, &aad, &forged), Err(Error(())), "{case} byte {at}");
                let (ciphertext, tag) = forged.split_last_chunk_mut::<16>().unwrap();
                let before = ciphertext.to_vec();
                let refused = cipher.open_in_place(&NONCE, &aad, ciphertext, tag);
                assert_eq!(refused, Err(Error(())), "{case} byte {at}");
                assert_eq!(ciphertext, before, "{case} byte {at}: left as it was");
            }
        }
    }
}

/// Every bit of what is authenticated, at lengths around the blocks of both primitives.
#[test]
fn open_refuses_every_flipped_bit_and_leaves_the_ciphertext() {
    for backend in backends() {
        let _guard = cpu::force(&backend).unwrap();
        for len in [0, 1, 15, 16, 17, 64, 100, 256] {
            refuses_flipped_bits(len, 1);
        }
        // The longest of each pass that keystream is made ahead in, and beyond; one bit in 61.
        for len in [191, 192, 193, 447, 448, 449, 959, 960, 961, 1024, 1025, 1984, 1985, 4096, 4097]
        {
            refuses_flipped_bits(len, 61);
        }
    }
}

/// Flips one bit in `step` of the sealed message, and each of AAD, nonce and key.
fn refuses_flipped_bits(len: usize, step: usize) {
    let cipher = ChaCha20Poly1305::from_key(&KEY);
    let (message, aad) = (painted(len), painted(len % 21));
    let sealed = cipher.seal(&NONCE, &aad, &message).unwrap();
    let refused = |key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], sealed: &[u8], case: &str| {
        let cipher = ChaCha20Poly1305::from_key(key);
        let (ciphertext, tag) = sealed.split_last_chunk().unwrap();
        let mut in_place = ciphertext.to_vec();
        assert_eq!(cipher.open_in_place(nonce, aad, &mut in_place, tag), Err(Error(())), "{case}");
        assert_eq!(in_place, ciphertext, "{case}: the ciphertext is left as it was");
        let mut out = vec![0xee; ciphertext.len()];
        assert_eq!(cipher.open_into(nonce, aad, sealed, &mut out), Err(Error(())), "{case}");
        assert!(out.iter().all(|byte| *byte == 0), "{case}: the output is all zero");
        assert_eq!(cipher.open(nonce, aad, sealed), Err(Error(())), "{case}");
    };
    for bit in (0..8 * sealed.len()).step_by(step) {
        let mut forged = sealed.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        refused(&KEY, &NONCE, &aad, &forged, &format!("length {len}, sealed bit {bit}"));
    }
    for bit in 0..8 * aad.len() {
        let mut forged = aad.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        refused(&KEY, &NONCE, &forged, &sealed, &format!("length {len}, aad bit {bit}"));
    }
    for bit in 0..8 * NONCE.len() {
        let mut forged = NONCE;
        forged[bit / 8] ^= 1 << (bit % 8);
        refused(&KEY, &forged, &aad, &sealed, &format!("length {len}, nonce bit {bit}"));
    }
    for bit in 0..8 * KEY.len() {
        let mut forged = KEY;
        forged[bit / 8] ^= 1 << (bit % 8);
        refused(&forged, &NONCE, &aad, &sealed, &format!("length {len}, key bit {bit}"));
    }
}

/// Bytes may not move between the AAD and the message, nor pass for padding.
#[test]
fn open_refuses_another_split_of_the_same_bytes() {
    let cipher = ChaCha20Poly1305::from_key(&KEY);
    let sealed = cipher.seal(&NONCE, b"aad", b"").unwrap();
    assert_eq!(cipher.open(&NONCE, b"aad\0", &sealed), Err(Error(())));
    assert_eq!(cipher.open(&NONCE, b"aa", &sealed), Err(Error(())));
    assert_eq!(cipher.open(&NONCE, b"", &sealed), Err(Error(())));
}

#[test]
fn an_empty_message_with_an_empty_aad_is_sealed() {
    let cipher = ChaCha20Poly1305::from_key(&KEY);
    let sealed = cipher.seal(&NONCE, b"", b"").unwrap();
    assert_eq!(sealed.len(), 16);
    assert_eq!(cipher.open(&NONCE, b"", &sealed), Ok(vec![]));
}

#[test]
fn a_buffer_of_the_wrong_length_is_an_error_and_nothing_is_written() {
    let cipher = ChaCha20Poly1305::from_key(&KEY);
    let message = painted(100);
    let sealed = cipher.seal(&NONCE, b"", &message).unwrap();
    for len in (0..200).filter(|len| *len != 116) {
        let mut out = vec![0xee; len];
        assert_eq!(cipher.seal_into(&NONCE, b"", &message, &mut out), Err(Error(())), "{len}");
        let gathered = cipher.seal_gather(&NONCE, &[], &[&message[..50], &message[50..]], &mut out);
        assert_eq!(gathered, Err(Error(())), "{len}");
        assert!(out.iter().all(|byte| *byte == 0xee), "{len}");
    }
    for len in (0..200).filter(|len| *len != 100) {
        let mut out = vec![0xee; len];
        assert_eq!(cipher.open_into(&NONCE, b"", &sealed, &mut out), Err(Error(())), "{len}");
        assert!(out.iter().all(|byte| *byte == 0xee), "{len}");
    }
    for len in 0..16 {
        assert_eq!(cipher.open(&NONCE, b"", &sealed[..len]), Err(Error(())), "{len}");
        assert_eq!(cipher.open_into(&NONCE, b"", &sealed[..len], &mut []), Err(Error(())), "{len}");
    }
}

#[test]
fn parts_may_overlap_each_other() {
    let cipher = ChaCha20Poly1305::from_key(&KEY);
    let bytes = painted(300);
    let mut out = vec![0; 200 + 250 + 16];
    cipher.seal_gather(&NONCE, &[], &[&bytes[..200], &bytes[50..]], &mut out).unwrap();
    let whole = [&bytes[..200], &bytes[50..]].concat();
    assert_eq!(out, definition(&KEY, &NONCE, b"", &whole));
}

/// draft-irtf-cfrg-xchacha-03, section 2.3.
#[test]
fn xchacha_seals_as_chacha_under_the_derived_key() {
    let nonce: [u8; 24] = core::array::from_fn(|i| i as u8);
    let derived = hchacha20(&KEY, nonce.first_chunk().unwrap());
    let mut rest = [0; 12];
    rest[4..].copy_from_slice(&nonce[16..]);
    let cipher = XChaCha20Poly1305::from_key(&KEY);
    for len in [0, 1, 64, 1000, 5000] {
        let message = painted(len);
        let sealed = cipher.seal(&nonce, b"aad", &message).unwrap();
        assert_eq!(sealed, definition(&derived, &rest, b"aad", &message), "length {len}");
        assert_eq!(cipher.open(&nonce, b"aad", &sealed), Ok(message), "length {len}");
    }
}

#[test]
fn random_nonces_differ_and_travel_in_front() {
    let cipher = XChaCha20Poly1305::from_key(&KEY);
    let sealed = cipher.seal_with_random_nonce(b"aad", b"message").unwrap();
    let other = cipher.seal_with_random_nonce(b"aad", b"message").unwrap();
    assert_ne!(sealed[..24], other[..24]);
    let nonce = sealed.first_chunk().unwrap();
    assert_eq!(cipher.open(nonce, b"aad", &sealed[24..]).unwrap(), b"message");
    assert_eq!(cipher.open_with_nonce(b"aad", &sealed).unwrap(), b"message");
    assert_eq!(cipher.open_with_nonce(b"aad", &sealed[..39]), Err(Error(())));
    assert_eq!(cipher.open_with_nonce(b"aad", &sealed[..23]), Err(Error(())));
}

#[test]
fn debug_shows_nothing_of_the_key() {
    let cipher = ChaCha20Poly1305::from_key(&KEY);
    assert_eq!(format!("{cipher:?}"), "ChaCha20Poly1305 { .. }");
}

proptest! {
    /// However message and AAD are cut into parts, empty ones among them.
    #[test]
    fn gathered_parts_are_sealed_as_their_whole(
        aad in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
        long in 0..2usize,
    ) {
        let mut parts = parts;
        parts.extend((0..long).map(|_| painted(9000)));
        let aad_parts: Vec<&[u8]> = aad.iter().map(Vec::as_slice).collect();
        let part_slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let cipher = ChaCha20Poly1305::from_key(&KEY);
        let mut out = vec![0; part_slices.concat().len() + 16];
        cipher.seal_gather(&NONCE, &aad_parts, &part_slices, &mut out).unwrap();
        let expected = definition(&KEY, &NONCE, &aad_parts.concat(), &part_slices.concat());
        prop_assert_eq!(out, expected);
    }
}

/// The traits of the `aead` crate, with input and output apart.
#[cfg(feature = "aead")]
#[test]
fn the_traits_work_apart_as_in_place() {
    use aead_traits::inout::InOutBuf;

    let cipher = ChaCha20Poly1305::from_key(&KEY);
    for len in [0, 1, 100, 5000] {
        let message = painted(len);
        let expected = definition(&KEY, &NONCE, b"aad", &message);
        let (expected, expected_tag) = expected.split_last_chunk::<16>().unwrap();

        let mut sealed = vec![0xee; len];
        let buffer = InOutBuf::new(&message, &mut sealed).unwrap();
        let tag = cipher.encrypt_inout_detached(&NONCE.into(), b"aad", buffer).unwrap();
        assert_eq!((&sealed[..], &tag.0), (expected, expected_tag), "length {len}");

        let mut opened = vec![0xee; len];
        let buffer = InOutBuf::new(&sealed, &mut opened).unwrap();
        cipher.decrypt_inout_detached(&NONCE.into(), b"aad", buffer, &tag).unwrap();
        assert_eq!(opened, message, "length {len}");

        let mut refused = vec![0xee; len];
        let buffer = InOutBuf::new(&sealed, &mut refused).unwrap();
        let wrong = cipher.decrypt_inout_detached(&NONCE.into(), b"AAD", buffer, &tag);
        assert_eq!(wrong, Err(aead_traits::Error), "length {len}");
        assert_eq!(refused, vec![0; len], "length {len}");

        let mut in_place = sealed.clone();
        let buffer = InOutBuf::from(in_place.as_mut_slice());
        let wrong = cipher.decrypt_inout_detached(&NONCE.into(), b"AAD", buffer, &tag);
        assert_eq!((wrong, &in_place), (Err(aead_traits::Error), &sealed), "length {len}");
    }
}

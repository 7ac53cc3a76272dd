//! Every way to seal gives, on every backend, what RFC 8439 gives step for step; every way to open
//! takes that and refuses it with a bit changed.

#![no_main]

use std::ops::ControlFlow;

use arbitrary::Arbitrary;
use keyspring::aead::ChaCha20Poly1305;
use keyspring_fuzz::{on_every_backend, painted, sealed_in_two_passes};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    key: [u8; 32],
    nonce: [u8; 12],
    aad: &'a [u8],
    len: u16,
    seed: u8,
    splits: [u16; 2],
    changed: u32,
}

fuzz_target!(|input: Input<'_>| {
    let Input { key, nonce, aad, seed, .. } = &input;
    let len = usize::from(input.len) % 20_000;
    let plaintext = painted(*seed, len);
    let expected = sealed_in_two_passes(key, nonce, aad, &plaintext);
    let (ciphertext, tag) = expected.split_last_chunk::<16>().expect("a tag follows");
    let changed = input.changed as usize % (8 * expected.len());
    let mut forged = expected.clone();
    forged[changed / 8] ^= 1 << (changed % 8);
    let (forged_ciphertext, forged_tag) = forged.split_last_chunk::<16>().expect("a tag follows");

    on_every_backend(|backend| {
        let cipher = ChaCha20Poly1305::from_key(key);
        let mut buffer = plaintext.clone();
        assert_eq!(cipher.seal_in_place(nonce, aad, &mut buffer).as_ref(), Ok(tag), "{backend}");
        assert_eq!(buffer, ciphertext, "{backend}");
        cipher.open_in_place(nonce, aad, &mut buffer, tag).expect("it is genuine");
        assert_eq!(buffer, plaintext, "{backend}");

        let mut out = vec![0xee; len + 16];
        cipher.seal_into(nonce, aad, &plaintext, &mut out).expect("the lengths fit");
        assert_eq!(out, expected, "{backend}, into");
        let [a, b] = input.splits.map(|split| usize::from(split).min(len));
        let parts =
            [&plaintext[..a.min(b)], &plaintext[a.min(b)..a.max(b)], &plaintext[a.max(b)..]];
        out.fill(0xee);
        cipher.seal_gather(nonce, &[aad], &parts, &mut out).expect("the lengths fit");
        assert_eq!(out, expected, "{backend}, gathered");
        let mut stepped = plaintext.clone();
        let sealed =
            cipher.seal_in_place_with(nonce, aad, &mut stepped, |_| ControlFlow::Continue(()));
        assert!(matches!(sealed, Ok(ControlFlow::Continue(t)) if t == *tag), "{backend}, in steps");
        assert_eq!(stepped, ciphertext, "{backend}, in steps");

        let mut buffer = forged_ciphertext.to_vec();
        assert!(cipher.open_in_place(nonce, aad, &mut buffer, forged_tag).is_err(), "{backend}");
        assert_eq!(buffer, forged_ciphertext, "{backend}: a refused message was touched");
        let mut out = vec![0xee; len];
        assert!(cipher.open_into(nonce, aad, &forged, &mut out).is_err(), "{backend}");
        assert!(out.iter().all(|byte| *byte == 0), "{backend}: not all zero");
    });
});

//! Sealing and opening in place, by backend and length.

mod series;

use core::hint::black_box;

use criterion::{Criterion, criterion_group};
use keyspring::aead::ChaCha20Poly1305;
use series::{LENGTHS, backends, by_backend_and_length};

/// As long as the header of a TLS record that is authenticated with it.
const AAD: [u8; 13] = [3; 13];

fn seal(criterion: &mut Criterion) {
    by_backend_and_length(criterion, "seal", backends(), &LENGTHS, |len| {
        let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
        let mut message = vec![0; len];
        let mut number = 0_u64;
        move || {
            number += 1;
            let mut nonce = [0; 12];
            nonce[4..].copy_from_slice(&number.to_le_bytes());
            black_box(cipher.seal_in_place(&nonce, &AAD, black_box(&mut message)))
                .expect("it is short enough");
        }
    });
}

/// In place the second opening would find a message and no ciphertext, so this one writes apart.
fn open(criterion: &mut Criterion) {
    by_backend_and_length(criterion, "open", backends(), &LENGTHS, |len| {
        let cipher = ChaCha20Poly1305::from_key(&[7; 32]);
        let sealed = cipher.seal(&[1; 12], &AAD, &vec![0; len]).expect("it is short enough");
        let mut message = vec![0; len];
        move || {
            cipher
                .open_into(black_box(&[1; 12]), &AAD, black_box(&sealed), black_box(&mut message))
                .expect("the tag is right");
        }
    });
}

criterion_group! {
    name = benches;
    config = series::criterion();
    targets = seal, open
}
criterion::criterion_main!(benches);

//! ChaCha20 in place, by backend and length; then single and odd blocks by tuning.

mod series;

use core::hint::black_box;

use criterion::criterion_group;
use keyspring::chacha::ChaCha20;
use keyspring::cpu;
use series::{LENGTHS, backends, by_backend_and_length};

fn xor(len: usize) -> impl FnMut() {
    let mut message = vec![0; len];
    let mut nonce = [0; 12];
    move || {
        nonce[0] = u8::wrapping_add(nonce[0], 1);
        ChaCha20::from_key(black_box(&[7; 32]), &nonce).apply_keystream(black_box(&mut message));
    }
}

fn lengths(criterion: &mut criterion::Criterion) {
    by_backend_and_length(criterion, "chacha20", backends(), &LENGTHS, xor);
}

/// Where the Zen 5 tuning leaves a block to the scalar row, and where it must not.
fn odd_blocks(criterion: &mut criterion::Criterion) {
    let best = cpu::backends().next().expect("scalar at least");
    let tunings = ["plain", "zen5"].map(|tuning| format!("{best}+{tuning}"));
    let lengths = [1, 2, 3, 5, 7, 9].map(|blocks| 64 * blocks);
    by_backend_and_length(criterion, "chacha20 odd blocks", tunings, &lengths, xor);
}

criterion_group! {
    name = benches;
    config = series::criterion();
    targets = lengths, odd_blocks
}
criterion::criterion_main!(benches);

//! Every backend gives the tag of the scalar one, however the message is split.

#![no_main]

use arbitrary::Arbitrary;
use keyspring::poly1305::{Poly1305, mac};
use keyspring_fuzz::{on_every_backend, scalar};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    key: [u8; 32],
    splits: [u16; 4],
    /// The message is this, so many times.
    times: u8,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let message = input.bytes.repeat(1 + usize::from(input.times));
    let expected = scalar(|| mac(&input.key, &message));
    on_every_backend(|backend| {
        assert_eq!(mac(&input.key, &message), expected, "{backend}");
        let mut poly = Poly1305::from_key(&input.key);
        let mut rest = message.as_slice();
        for split in input.splits {
            let (piece, others) = rest.split_at(usize::from(split).min(rest.len()));
            poly.update(piece);
            rest = others;
        }
        poly.update(rest);
        assert_eq!(poly.finalize(), expected, "{backend}, split");
    });
});

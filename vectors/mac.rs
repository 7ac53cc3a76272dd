//! Poly1305: a vector gives a one-time key, a message and its tag.

use keyspring::poly1305::{Poly1305, mac};

use crate::Place;
use crate::file::Vector;

/// Checks a vector in one call, in pieces, and against each tag that differs in one bit. Returns
/// how many of those were refused.
pub(crate) fn check(vector: &Vector<'_>, place: Place<'_>) -> usize {
    let key = vector.array("key");
    let message = vector.bytes("message");
    let tag: [u8; 16] = vector.array("tag");

    place.same("mac", &mac(&key, &message), &tag);

    // The pieces end inside a block and one byte to either side of its end.
    for piece in [1, 15, 16, 17, message.len()] {
        let mut poly1305 = Poly1305::from_key(&key);
        for part in message.chunks(piece) {
            poly1305.update(part);
        }
        place.same(&format!("update, {piece} bytes a call"), &poly1305.finalize(), &tag);
    }

    let accepts = |tag: &[u8; 16]| {
        let mut poly1305 = Poly1305::from_key(&key);
        poly1305.update(&message);
        poly1305.verify(tag).is_ok()
    };
    if !accepts(&tag) {
        place.fail("verify refuses the right tag");
    }
    for bit in 0..128 {
        let mut forged = tag;
        forged[bit / 8] ^= 1 << (bit % 8);
        if accepts(&forged) {
            place.fail(&format!("verify accepts a tag whose bit {bit} is flipped"));
        }
    }
    128
}

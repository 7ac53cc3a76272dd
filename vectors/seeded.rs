//! SeededCrng: a vector gives a seed and the bytes of its stream from an offset on, or those of a
//! child split off at that offset.

use keyspring::crng::SeededCrng;

use crate::Place;
use crate::file::Vector;

/// Checks a vector in one call and in pieces; how a caller splits its reads never changes a byte.
/// The vector's `sha256` is for readers, and for check.py: it is a digest of the same bytes.
pub(crate) fn check(vector: &Vector<'_>, place: Place<'_>) {
    let offset = usize::try_from(vector.number("offset")).expect("an offset within memory");
    let output = vector.bytes("output");

    // 992 is one refill.
    for piece in [offset + output.len(), 1, 7, 64, 991, 992, 993] {
        let mut crng = SeededCrng::from_seed(vector.array("seed"));
        let mut stream = vec![0xa5; offset + output.len()];
        for part in stream.chunks_mut(piece) {
            crng.fill(part);
        }
        place.same(&format!("fill, {piece} bytes a call"), &stream[offset..], &output);
    }
}

/// Checks the child that is split off once `offset` bytes of the parent's stream are drawn.
pub(crate) fn check_split(vector: &Vector<'_>, place: Place<'_>) {
    let offset = usize::try_from(vector.number("offset")).expect("an offset within memory");
    let output = vector.bytes("output");

    let mut parent = SeededCrng::from_seed(vector.array("seed"));
    parent.fill(&mut vec![0xa5; offset]);
    let mut child = vec![0xa5; output.len()];
    parent.split(&vector.bytes("label")).fill(&mut child);
    place.same("split", &child, &output);
}

//! SeededCrng: a vector gives a seed and the bytes of its stream from an offset on, or those of a
//! child split off at that offset.

use keyspring::cpu;
use keyspring::crng::SeededCrng;
use proptest::prelude::*;

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// However reads are split, and whatever their types: from shortly before a refill on.
    #[test]
    fn any_calls_give_the_bytes_of_one(
        start in 950..=992_usize,
        calls in prop::collection::vec((0..8_u8, 0..40_usize), 1..10),
        long in 0..2000_usize,
    ) {
        let mut whole = vec![0; 5000];
        SeededCrng::from_seed([7; 32]).fill(&mut whole);
        for backend in cpu::backends() {
            let _guard = cpu::force(backend).unwrap();
            let mut rng = SeededCrng::from_seed([7; 32]);
            let mut stream = vec![];
            for (call, len) in [(7, start)].iter().chain(&calls).chain(&[(7, long)]) {
                match call {
                    0 => stream.extend(rng.u8().to_le_bytes()),
                    1 => stream.extend(rng.u16().to_le_bytes()),
                    2 => stream.extend(rng.u32().to_le_bytes()),
                    3 => stream.extend(rng.u64().to_le_bytes()),
                    4 => stream.extend(rng.u128().to_le_bytes()),
                    5 => stream.extend(rng.bytes::<33>()),
                    6 => prop_assert_eq!(rng.bool(), {
                        stream.push(whole[stream.len()]);
                        stream[stream.len() - 1] & 1 == 1
                    }),
                    _ => {
                        let before = stream.len();
                        stream.resize(before + len, 0);
                        rng.fill(&mut stream[before..]);
                    }
                }
            }
            prop_assert!(stream == whole[..stream.len()], "{} {:?}", backend, calls);
        }
    }
}

//! Project Wycheproof's vectors: edge cases of Poly1305, modified tags, nonces of a wrong length.

use keyspring::aead::{ChaCha20Poly1305, XChaCha20Poly1305};

use ::wycheproof::TestResult;
use ::wycheproof::aead::{TestName, TestSet};

use crate::sealed::{Cipher, Message, is_refused, seals_and_opens};
use crate::{Place, on_every_backend};

/// What became of a set's tests on one backend.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    /// Valid messages, sealed and opened.
    opened: usize,
    /// Invalid ones, refused.
    refused: usize,
    /// Tests of a nonce whose length no call can have, since a nonce is an array.
    not_applicable: usize,
}

#[test]
fn chacha20_poly1305_agrees_with_wycheproof() {
    let expected = Tally { opened: 256, refused: 60, not_applicable: 9 };
    run::<ChaCha20Poly1305>(TestName::ChaCha20Poly1305, 12, expected);
}

#[test]
fn xchacha20_poly1305_agrees_with_wycheproof() {
    let expected = Tally { opened: 246, refused: 60, not_applicable: 9 };
    run::<XChaCha20Poly1305>(TestName::XChaCha20Poly1305, 24, expected);
}

fn run<C: Cipher>(name: TestName, nonce_len: usize, expected: Tally) {
    let set = TestSet::load(name).expect("the crate's own data are well-formed");
    let file = format!("Wycheproof {name:?}");
    on_every_backend(|backend| {
        let mut tally = Tally::default();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let vector = format!("test {} ({})", test.tc_id, test.comment);
            let place = Place { file: &file, vector: &vector, backend };
            if test.nonce.len() != nonce_len {
                assert_eq!(test.result, TestResult::Invalid, "{file}: {vector}: nonce length");
                tally.not_applicable += 1;
                continue;
            }
            let message = Message {
                key: test.key.to_vec(),
                nonce: test.nonce.to_vec(),
                aad: test.aad.to_vec(),
                sealed: [test.ct.as_slice(), test.tag.as_slice()].concat(),
            };
            match test.result {
                TestResult::Valid => {
                    seals_and_opens::<C>(&message, &test.pt, place);
                    tally.opened += 1;
                }
                TestResult::Invalid => {
                    is_refused::<C>(&message, place);
                    tally.refused += 1;
                }
                TestResult::Acceptable => place.fail("neither valid nor invalid"),
            }
        }

        let Tally { opened, refused, not_applicable } = tally;
        println!(
            "{file}: {backend}: {opened} opened, {refused} refused, \
             {not_applicable} not applicable (nonce length), of {}",
            set.number_of_tests
        );
        assert_eq!(opened + refused + not_applicable, set.number_of_tests, "{file}: {backend}");
        assert_eq!(tally, expected, "{file}: {backend}");
    });
}

//! What is shown of errors, states and this machine, and that nothing of it is secret.

use std::collections::BTreeSet;

use keyspring::aead::ChaCha20Poly1305;
use keyspring::chacha::ChaCha20;
use keyspring::cpu;
use keyspring::crng::{self, Crng, EntropySource, Mode, SeededCrng};
use keyspring::poly1305::Poly1305;

#[test]
fn errors_say_what_went_wrong() {
    let cipher = ChaCha20Poly1305::from_key(&[1; 32]);
    let refused = cipher.open_in_place(&[0; 12], b"", &mut [0; 5], &[0; 16]).unwrap_err();
    assert_eq!(refused.to_string(), "the message was refused");

    let wrong = Poly1305::from_key(&[1; 32]).verify(&[0; 16]).unwrap_err();
    assert_eq!(wrong.to_string(), "the tag does not belong to the message");

    let mut stream = ChaCha20::from_key(&[1; 32], &[2; 12]);
    stream.seek_to(1 << 38);
    let exhausted = stream.try_apply_keystream(&mut [0]).unwrap_err();
    assert!(exhausted.to_string().contains("keystream"), "{exhausted}");

    let said = [crng::Error::SOURCE, crng::Error::WEAK, crng::Error::LENGTH].map(|e| e.to_string());
    assert_eq!(said.iter().collect::<BTreeSet<_>>().len(), 3, "{said:?}");

    let unknown = cpu::force("avx1024").unwrap_err();
    assert!(unknown.to_string().contains("no backend"), "{unknown}");
    assert!(cpu::force("scalar+haste").is_err());
}

#[test]
fn debug_shows_nothing_of_the_key() {
    struct Counting;
    impl EntropySource for Counting {
        fn fill(&mut self, dst: &mut [u8]) -> Result<(), crng::Error> {
            (0..).zip(dst).for_each(|(i, byte)| *byte = i);
            Ok(())
        }
    }

    let key = [0x5a; 32];
    let cipher = ChaCha20Poly1305::from_key(&key);
    let (mut first, mut second) = ([0x5a; 4], [0x5a; 4]);
    let sealing = format!("{:?}", cipher.sealing(&[0; 12], b"", &mut first).unwrap());
    let opening = format!("{:?}", cipher.opening(&[0; 12], b"", &mut second, &[0; 16]).unwrap());
    assert_eq!(sealing, "Sealing { done: 0, .. }");
    assert_eq!(opening, "Opening { done: 0, .. }");
    assert_eq!(format!("{:?}", Poly1305::from_key(&key)), "Poly1305 { .. }");
    assert_eq!(format!("{:?}", SeededCrng::from_seed(key)), "SeededCrng { .. }");
    let owned = format!("{:?}", Crng::builder().source(Counting).build().unwrap());
    assert_eq!(owned, "Crng { policy: Standard, .. }");
}

#[test]
fn states_say_what_they_are() {
    /// Works once.
    struct Once(bool);
    impl EntropySource for Once {
        fn fill(&mut self, dst: &mut [u8]) -> Result<(), crng::Error> {
            crng::fill(dst);
            if core::mem::take(&mut self.0) { Ok(()) } else { Err(crng::Error::SOURCE) }
        }
    }

    let modes = [Mode::BufferedDroppable, Mode::BufferedWipe, Mode::BufferedNoFork, Mode::Direct];
    let said = modes.map(|mode| mode.to_string());
    assert_eq!(said, ["buffered droppable", "buffered wipe", "buffered no fork", "direct"]);

    let mut rng = Crng::builder().source(Once(true)).build().unwrap();
    let healthy = rng.health();
    assert_eq!((healthy.degraded(), healthy.last_error()), (false, None));
    assert!(healthy.to_string().ends_with(" refills"), "{healthy}");
    assert_eq!(rng.reseed(), Err(crng::Error::SOURCE));
    let health = rng.health();
    assert_eq!((health.degraded(), health.last_error()), (true, Some(crng::Error::SOURCE)));
    assert!(
        health.to_string().ends_with(&format!(", degraded: {}", crng::Error::SOURCE)),
        "{health}"
    );
}

/// The report names every row of every table, and the self-test runs each.
#[test]
fn the_report_and_the_self_test_name_every_backend() {
    let report = cpu::report();
    let shown = report.to_string();
    for name in [report.chacha20(), report.poly1305(), report.tuning()] {
        assert!(shown.contains(name), "{name}:\n{shown}");
    }
    let tests: Vec<String> = cpu::self_test()
        .map(|test| {
            assert!(test.passed(), "{test}");
            test.to_string()
        })
        .collect();
    for backend in cpu::backends() {
        assert!(shown.contains(backend), "{backend}:\n{shown}");
        let run = tests.iter().filter(|test| test.contains(backend)).count();
        assert!(run > 0, "{backend}: {tests:?}");
    }
    assert!(tests.iter().all(|test| test.ends_with(": ok")), "{tests:?}");

    let _scalar = cpu::force("scalar").expect("it runs everywhere");
    assert_eq!(cpu::report().poly1305_threshold(), None);
    assert_eq!(cpu::report().chacha20(), "scalar");
}

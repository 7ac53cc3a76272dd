//! What the program says of the machine.

use crate::stdout_of;

#[test]
fn info_names_the_backend_of_each_primitive() {
    let text = String::from_utf8(stdout_of("info")).unwrap();
    for subject in ["keyspring", "tuning", "chacha20", "poly1305", "aead", "crng"] {
        let line = text.lines().find(|line| line.starts_with(subject));
        let says = line.and_then(|line| line.split_whitespace().nth(1));
        assert!(says.is_some(), "{subject} is missing in {text}");
    }
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}

#[test]
fn selftest_gives_each_backend_a_line_and_all_a_sum() {
    let text = String::from_utf8(stdout_of("selftest")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let (sum, tests) = lines.split_last().unwrap();
    for primitive in ["chacha20", "poly1305", "chacha20-poly1305"] {
        let mut lines = tests.iter().filter(|line| line.split(' ').next() == Some(primitive));
        let passed = lines.any(|line| line.contains("scalar") && line.ends_with(": ok"));
        assert!(passed, "{primitive}: {text}");
    }
    assert_eq!(*sum, format!("{0} of {0} known answers right", tests.len()));
}

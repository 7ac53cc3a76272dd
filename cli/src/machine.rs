//! What runs here, and whether it computes what it should.

use keyspring::{cpu, crng};

use crate::failure::Failure;
use crate::output::print;

pub(crate) fn info() -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let health = match crng::warm_up() {
        Ok(()) => crng::health().to_string(),
        Err(error) => error.to_string(),
    };
    let (report, mode) = (cpu::report(), crng::mode());
    print(format!("keyspring  {version}\n{report}\ncrng       {mode}: {health}\n").as_bytes())
}

pub(crate) fn self_test() -> Result<(), Failure> {
    let (text, verdict) = judge(cpu::self_test().map(|test| (test.to_string(), test.passed())));
    let printed = print(text.as_bytes());
    // A wrong answer outranks a closed pipe.
    verdict.and(printed)
}

/// A line for each test and one for all, and a failure if there is one among them.
fn judge(tests: impl Iterator<Item = (String, bool)>) -> (String, Result<(), Failure>) {
    let mut text = String::new();
    let (mut passed, mut all) = (0, 0);
    for (line, right) in tests {
        passed += u32::from(right);
        all += 1;
        text += &format!("{line}\n");
    }
    text += &format!("{passed} of {all} known answers right\n");
    if passed == all {
        return (text, Ok(()));
    }
    let message = "known answers came out wrong: use no key from this machine before you know why";
    (text, Err(Failure::Failed(message.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_answer_fails_the_whole() {
        let test = |right| (format!("test {right}"), right);
        let (text, verdict) = judge([test(true), test(false), test(true)].into_iter());
        assert_eq!(text, "test true\ntest false\ntest true\n2 of 3 known answers right\n");
        assert!(matches!(verdict, Err(Failure::Failed(_))), "{verdict:?}");

        let (text, verdict) = judge([test(true)].into_iter());
        assert_eq!(text, "test true\n1 of 1 known answers right\n");
        assert!(verdict.is_ok(), "{verdict:?}");
    }
}

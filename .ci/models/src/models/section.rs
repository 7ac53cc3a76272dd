//! What is shared around kernels: the choice of a row, hooks, and counters.

use std::prelude::rust_2024::*;

use super::at_once;
use crate::cpu::{self, Head, Memo, Row};
use crate::section::{self, Hooks, Primitive, install};

struct Abacus(Head);

impl Row for Abacus {
    fn head(&self) -> &Head {
        &self.0
    }
}

static TABLE: [Abacus; 3] = [
    Abacus(Head { name: "electric", level: 40, usable: || false }),
    Abacus(Head { name: "of steel", level: 20, usable: || true }),
    Abacus(Head { name: "scalar", level: 0, usable: || true }),
];

/// Two threads that choose at once choose the same, and what this machine has.
pub(super) fn choice() {
    static MEMO: Memo = Memo::new();
    let choose = || cpu::choose(&TABLE, &MEMO).map(|row| row.name());
    assert_eq!(at_once(choose, choose), (Some("of steel"), Some("of steel")));
}

/// Of two that install hooks one does, and both run under the hooks of that one.
pub(super) fn hooks() {
    static YES: Hooks = Hooks { usable: || true, begin: || {}, end: || {}, relax: || {} };
    static NO: Hooks = Hooks { usable: || false, ..YES };
    let run = || {
        let row = cpu::usable(&TABLE).next().expect("it is usable");
        section::attempt(Primitive::ChaCha20, row, |_| ()).is_some()
    };
    let (yes, no) =
        at_once(move || (install(&YES).is_ok(), run()), move || (install(&NO).is_ok(), run()));
    assert_ne!(yes.0, no.0);
    assert_eq!((yes.1, no.1), (yes.0, yes.0));
}

/// Two threads that count for the first time do so each for its own backend, and none is lost.
pub(super) fn counters() {
    let vectors = || {
        let row = cpu::usable(&TABLE).next().expect("it is usable");
        section::run(Primitive::Poly1305, row, |_| ());
    };
    let scalar = || section::scalar(Primitive::Poly1305, || ());
    at_once(
        move || {
            vectors();
            scalar();
        },
        scalar,
    );
    let mut counted: Vec<_> = section::stats().map(|stats| (stats.backend, stats.count)).collect();
    counted.sort_unstable();
    assert_eq!(counted, [("of steel", 1), ("scalar", 2)]);
}

//! The hooks around vector sections: balanced, never nested, and nothing else changes with them.

mod operations;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod trace;

use core::cell::Cell;
use std::panic::catch_unwind;
use std::sync::Once;

use keyspring::chacha::ChaCha20;
use keyspring::section::{self, CHACHA20_BYTES, Hooks, POLY1305_BYTES};
use keyspring::{cpu, poly1305};

use self::operations::{LENGTHS, operations};

/// What the hooks saw and do on one thread; the tests run side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    asked: u32,
    begun: u32,
    ended: u32,
    relaxed: u32,
}

/// What `usable` says.
#[derive(Clone, Copy)]
enum Usable {
    Always,
    Never,
    /// As a generator of this state has it.
    Random(u64),
}

thread_local! {
    static SEEN: Cell<Seen> = const { Cell::new(Seen { asked: 0, begun: 0, ended: 0, relaxed: 0 }) };
    static USABLE: Cell<Usable> = const { Cell::new(Usable::Always) };
    /// After so many calls of `relax`, one panics.
    static PANIC_AFTER: Cell<Option<u32>> = const { Cell::new(None) };
}

fn note(f: impl FnOnce(&mut Seen)) {
    let mut seen = SEEN.get();
    f(&mut seen);
    SEEN.set(seen);
}

static HOOKS: Hooks = Hooks { usable, begin, end, relax };

fn usable() -> bool {
    note(|seen| seen.asked += 1);
    match USABLE.get() {
        Usable::Always => true,
        Usable::Never => false,
        Usable::Random(mut state) => {
            // Xorshift (Marsaglia, 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            USABLE.set(Usable::Random(state));
            state.is_multiple_of(2)
        }
    }
}

fn begin() {
    note(|seen| {
        assert_eq!(seen.begun, seen.ended, "a section inside another");
        seen.begun += 1;
    });
}

fn end() {
    note(|seen| {
        seen.ended += 1;
        assert_eq!(seen.begun, seen.ended, "an end without a beginning");
    });
}

fn relax() {
    note(|seen| {
        assert_eq!(seen.begun, seen.ended, "relaxed inside a section");
        seen.relaxed += 1;
    });
    if let Some(left) = PANIC_AFTER.get() {
        PANIC_AFTER.set(left.checked_sub(1));
        assert_ne!(left, 0, "as it was told to");
    }
}

/// Installs the hooks and forgets what this thread has seen.
fn start(usable: Usable) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| section::install(&HOOKS).expect("there are none yet"));
    SEEN.set(Seen::default());
    USABLE.set(usable);
}

/// Every backend, with vectors wherever they can run, in sections that the lengths are longer than.
fn backends() -> impl Iterator<Item = (&'static str, cpu::Guard)> {
    cpu::backends().map(|name| {
        (
            name,
            cpu::force(&format!("{name}+no-threshold+section-64"))
                .expect("a backend of this machine"),
        )
    })
}

#[test]
fn hooks_are_installed_once() {
    start(Usable::Always);
    assert_eq!(
        section::install(&HOOKS).unwrap_err().to_string(),
        "hooks have been installed before"
    );
}

#[test]
fn every_operation_balances_its_sections() {
    for (backend, _guard) in backends() {
        for operation in operations() {
            let mut sections = 0;
            for len in LENGTHS {
                start(Usable::Always);
                (operation.run)(len);
                let seen = SEEN.get();
                let at = format!("{backend}, {}, length {len}: {seen:?}", operation.name);
                assert_eq!(seen.begun, seen.ended, "{at}");
                assert!(seen.asked >= seen.begun, "{at}");
                assert!(seen.relaxed >= seen.ended, "{at}");
                sections += seen.begun;
            }
            let at = format!("{backend}, {}", operation.name);
            assert_eq!(sections > 0, operation.row() != "scalar", "{at}");
        }
    }
}

#[test]
fn where_vectors_may_not_be_used_no_section_begins() {
    for (backend, _guard) in backends() {
        for operation in operations() {
            for len in LENGTHS {
                start(Usable::Always);
                let expected = (operation.run)(len);
                start(Usable::Never);
                let at = format!("{backend}, {}, length {len}", operation.name);
                assert!((operation.run)(len) == expected, "{at}");
                assert_eq!((SEEN.get().begun, SEEN.get().ended), (0, 0), "{at}");
            }
        }
    }
}

#[test]
fn scalar_code_in_place_of_vectors_keeps_to_its_own_sections() {
    const LEN: usize = 300_000;
    for backend in cpu::backends() {
        let _guard = cpu::force(backend).expect("a backend of this machine");
        type Run = fn(&mut [u8]);
        let runs: [(&str, usize, Run); 2] = [
            ("chacha20", CHACHA20_BYTES, |bytes| {
                ChaCha20::from_key(&[7; 32], &[9; 12]).apply_keystream(bytes);
            }),
            ("poly1305", POLY1305_BYTES, |bytes| _ = poly1305::mac(&[7; 32], bytes)),
        ];
        for (primitive, section, run) in runs {
            start(Usable::Never);
            run(&mut vec![0; LEN]);
            let relaxed = SEEN.get().relaxed as usize;
            assert!(relaxed >= LEN / section, "{backend}, {primitive}: {relaxed} sections");
        }
    }
}

#[test]
fn the_result_is_the_same_when_usable_flips_between_sections() {
    for (backend, _guard) in backends() {
        let (mut begun, mut refused) = (0, 0);
        for operation in operations() {
            for len in LENGTHS {
                start(Usable::Always);
                let expected = (operation.run)(len);
                for seed in 1..=8u64 {
                    start(Usable::Random(seed << 60 | 0x1e37_79b9_7f4a_7c15));
                    let at = format!("{backend}, {}, length {len}, seed {seed}", operation.name);
                    assert!((operation.run)(len) == expected, "{at}");
                    let seen = SEEN.get();
                    assert_eq!(seen.begun, seen.ended, "{at}");
                    begun += seen.begun;
                    refused += seen.asked - seen.begun;
                }
            }
        }
        let flipped = begun > 0 && refused > 0;
        assert_eq!(flipped, backend != "scalar", "{backend}: {begun} begun, {refused} not");
    }
}

#[test]
fn a_panic_between_sections_leaves_them_balanced() {
    for (backend, _guard) in backends() {
        for operation in operations() {
            for after in 0..4 {
                start(Usable::Always);
                PANIC_AFTER.set(Some(after));
                let panicked = catch_unwind(|| (operation.run)(20_000)).is_err();
                PANIC_AFTER.set(None);
                let seen = SEEN.get();
                let at = format!("{backend}, {}, after {after}: {seen:?}", operation.name);
                assert!(panicked || seen.relaxed <= after, "{at}");
                assert_eq!(seen.begun, seen.ended, "{at}");
            }
        }
    }
}

//! What runs on this machine: the only file that looks at every table.

use core::fmt;

use crate::aead::ChaCha20Poly1305;
use crate::chacha;
use crate::chacha::State;
use crate::chacha::data::Keystream;
use crate::cpu::{Identity, Row, Tuning, Usable, usable};
use crate::poly1305::{self, Accumulator};

/// Says which CPU this is, how the kernels are tuned, and which backends run.
///
/// # Examples
///
/// ```
/// println!("{}", keyspring::cpu::report());
/// ```
#[must_use]
pub fn report() -> Report {
    Report {
        cpu: Identity::of_this_cpu(),
        tuning: Tuning::current(),
        chacha20: chacha::Core::new(),
        poly1305: poly1305::Core::new(),
    }
}

/// What [`report`] says; to be printed.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    cpu: Identity,
    tuning: Tuning,
    chacha20: chacha::Core,
    poly1305: poly1305::Core,
}

impl Report {
    /// The tuning of the kernels.
    #[must_use]
    pub fn tuning(&self) -> &'static str {
        self.tuning.name()
    }

    /// The backend that ChaCha20 runs on.
    #[must_use]
    pub fn chacha20(&self) -> &'static str {
        self.chacha20.name()
    }

    /// The backend that Poly1305 runs on, from [its threshold](Self::poly1305_threshold) on.
    #[must_use]
    pub fn poly1305(&self) -> &'static str {
        self.poly1305.name()
    }

    /// The bytes from which on Poly1305 leaves the scalar path; `None` if it never does.
    #[must_use]
    pub fn poly1305_threshold(&self) -> Option<usize> {
        self.poly1305.threshold()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cpu != Identity::default() {
            let vendor = self.cpu.vendor();
            let vendor = core::str::from_utf8(&vendor).unwrap_or("unknown vendor");
            let (family, model) = (self.cpu.family(), self.cpu.model());
            writeln!(f, "cpu        {vendor} family {family:#x} model {model:#x}")?;
        }
        writeln!(f, "tuning     {}", self.tuning())?;
        write!(f, "chacha20   {}", self.chacha20())?;
        list(f, usable(chacha::backend::TABLE))?;
        write!(f, "poly1305   {}", self.poly1305())?;
        if let Some(threshold) = self.poly1305_threshold() {
            write!(f, " from {threshold} bytes on, scalar below")?;
        }
        list(f, usable(poly1305::backend::TABLE))?;
        write!(f, "aead       chacha20, then poly1305")
    }
}

fn list<R: Row>(f: &mut fmt::Formatter<'_>, rows: impl Iterator<Item = Usable<R>>) -> fmt::Result {
    f.write_str("  (usable:")?;
    for row in rows {
        write!(f, " {}", row.name())?;
    }
    f.write_str(")\n")
}

/// The names of the backends that this machine can run, best first, `"scalar"` last.
///
/// # Examples
///
/// ```
/// assert_eq!(keyspring::cpu::backends().last(), Some("scalar"));
/// ```
pub fn backends() -> impl Iterator<Item = &'static str> {
    (0..=u8::MAX).rev().filter_map(level_name)
}

/// The name of a level, if some table has a usable row of it.
fn level_name(level: u8) -> Option<&'static str> {
    fn in_table<R: Row>(table: &'static [R], level: u8) -> Option<&'static str> {
        let row = table.iter().find(|row| row.level() == level && row.usable())?;
        Some(row.name())
    }
    in_table(chacha::backend::TABLE, level).or_else(|| in_table(poly1305::backend::TABLE, level))
}

#[cfg(feature = "force-backend")]
pub use self::forcing::{Guard, UnknownBackend, force};

#[cfg(feature = "force-backend")]
mod forcing {
    use core::fmt;
    use core::marker::PhantomData;

    use super::level_name;
    use crate::cpu::{Forced, Tuning, set_forced};

    /// Holds this thread to a backend: until the guard is dropped, every table takes its best row
    /// not above the one named. A name may carry a tuning, `"avx2+zen5"`, or ask for the vector
    /// kernels wherever they can run, not only where they pay: `"avx2+no-threshold"`.
    ///
    /// Key objects keep the backend that was in force when they were made.
    ///
    /// # Errors
    ///
    /// [`UnknownBackend`] if no table has a row of this name that this machine can run, or no
    /// tuning has this name.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard = keyspring::cpu::force("scalar")?;
    /// assert_eq!(keyspring::cpu::report().chacha20(), "scalar");
    /// drop(guard);
    /// assert!(keyspring::cpu::force("abacus").is_err());
    /// # Ok::<(), keyspring::cpu::UnknownBackend>(())
    /// ```
    pub fn force(name: &str) -> Result<Guard, UnknownBackend> {
        let mut parts = name.split('+');
        let backend = parts.next();
        let level = (0..=u8::MAX).find(|level| backend.is_some() && level_name(*level) == backend);
        let level = level.ok_or(UnknownBackend(()))?;
        let mut forced = Forced { level, tuning: Tuning::Plain, no_threshold: false };
        for part in parts {
            if part == "no-threshold" {
                forced.no_threshold = true;
                continue;
            }
            let tuning = Tuning::ALL.into_iter().find(|tuning| tuning.name() == part);
            forced.tuning = tuning.ok_or(UnknownBackend(()))?;
        }
        Ok(Guard { before: set_forced(Some(forced)), not_send: PhantomData })
    }

    /// Puts back on drop what was in force before.
    #[derive(Debug)]
    #[must_use = "the backend is forced only as long as the guard lives"]
    pub struct Guard {
        before: Option<Forced>,
        not_send: PhantomData<*const ()>,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            set_forced(self.before);
        }
    }

    /// This machine runs no backend of that name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UnknownBackend(());

    impl fmt::Display for UnknownBackend {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("no backend or tuning of that name runs on this machine")
        }
    }

    impl core::error::Error for UnknownBackend {}
}

/// Runs known answers on every backend that this machine can run, whichever of them is in use.
///
/// # Examples
///
/// ```
/// assert!(keyspring::cpu::self_test().all(|test| test.passed()));
/// ```
pub fn self_test() -> impl Iterator<Item = SelfTest> {
    let chacha20 = usable(chacha::backend::TABLE).map(|row| {
        let core = chacha::Core::on(row);
        SelfTest {
            primitive: "chacha20",
            backends: [core.name(), ""],
            passed: chacha20_passes(core),
        }
    });
    let poly1305 = usable(poly1305::backend::TABLE).map(|row| {
        let core = poly1305::Core::on(row);
        SelfTest {
            primitive: "poly1305",
            backends: [core.name(), ""],
            passed: poly1305_passes(core),
        }
    });
    let aead = usable(chacha::backend::TABLE).flat_map(|chacha20| {
        usable(poly1305::backend::TABLE).map(move |poly1305| {
            let cores = (chacha::Core::on(chacha20), poly1305::Core::on(poly1305));
            let backends = [cores.0.name(), cores.1.name()];
            SelfTest { primitive: "chacha20-poly1305", backends, passed: aead_passes(cores) }
        })
    });
    chacha20.chain(poly1305).chain(aead)
}

/// One line of [`self_test`].
#[derive(Clone, Copy, Debug)]
pub struct SelfTest {
    primitive: &'static str,
    /// The second is empty where one is all.
    backends: [&'static str; 2],
    passed: bool,
}

impl SelfTest {
    /// Whether the answer was right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.passed
    }
}

impl fmt::Display for SelfTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.backends;
        let plus = if second.is_empty() { "" } else { " + " };
        let verdict = if self.passed { "ok" } else { "FAILED" };
        write!(f, "{:<18} {first}{plus}{second}: {verdict}", self.primitive)
    }
}

/// Long enough for every shape of every kernel, and no multiple of a block of either primitive.
const LONG: usize = 2111;

/// 0, 1, 2, ...
fn counting<const N: usize>() -> [u8; N] {
    core::array::from_fn(|i| (i % 251) as u8)
}

/// The tag of [`LONG`] bytes of keystream, from an independent model (`vectors/check.py`).
fn chacha20_passes(core: chacha::Core) -> bool {
    const TAG: [u8; 16] = [
        0xd1, 0x4b, 0x69, 0x16, 0xb6, 0xef, 0x7a, 0x4e, 0x75, 0xb2, 0xaa, 0x61, 0x3c, 0xaf, 0x9f,
        0x31,
    ];
    let mut keystream = [0; LONG];
    let state = State::with_nonce_96(&counting(), &counting(), 0, 10);
    core.run(&state, 0, None, Keystream(&mut keystream));
    poly1305::mac(&counting(), &keystream) == TAG
}

/// The tag of [`LONG`] counting bytes, from an independent model (`vectors/check.py`).
fn poly1305_passes(core: poly1305::Core) -> bool {
    const TAG: [u8; 16] = [
        0xce, 0x04, 0x16, 0x61, 0x08, 0x3e, 0x1e, 0xa6, 0x15, 0x04, 0x89, 0x15, 0x95, 0x1c, 0x09,
        0x81,
    ];
    let mut mac = Accumulator::new(core, &counting());
    mac.padded(&counting::<LONG>());
    mac.tag() == TAG
}

/// Seals [`LONG`] counting bytes, opens them, and sees a forgery refused; the tag is from an
/// independent model (`vectors/check.py`).
fn aead_passes((chacha20, poly1305): (chacha::Core, poly1305::Core)) -> bool {
    const TAG: [u8; 16] = [
        0x79, 0x48, 0x42, 0x3e, 0x97, 0x24, 0xd5, 0x74, 0xb1, 0x30, 0x6e, 0x18, 0x1c, 0xa9, 0xcb,
        0x1c,
    ];
    let cipher = ChaCha20Poly1305::on(&counting(), chacha20, poly1305);
    let (nonce, aad) = (counting(), counting::<13>());
    let mut message = counting::<LONG>();
    let Ok(tag) = cipher.seal_in_place(&nonce, &aad, &mut message) else { return false };
    let sealed = message;
    let forged = cipher.open_in_place(&nonce, &aad, &mut message, &[0; 16]);
    let refused = forged.is_err() && message == sealed;
    let opened = cipher.open_in_place(&nonce, &aad, &mut message, &tag);
    tag == TAG && refused && opened.is_ok() && message == counting::<LONG>()
}

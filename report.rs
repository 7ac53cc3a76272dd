//! What runs on this machine: the only file that looks at every table.

use core::fmt;

use crate::aead::ChaCha20Poly1305;
use crate::aead::backend::{self as aead, Fused};
use crate::chacha;
use crate::chacha::State;
use crate::chacha::data::Keystream;
use crate::cpu::{self, Identity, Row, Tuning, Usable, usable};
use crate::poly1305::{self, Accumulator, Poly1305};

/// Says which CPU this is, how the kernels are tuned, and which backends run.
///
/// # Examples
///
/// ```
/// println!("{}", keyspring::cpu::report());
/// ```
#[must_use]
pub fn report() -> Report {
    let chacha20 = chacha::Core::new();
    Report {
        cpu: Identity::of_this_cpu(),
        tuning: Tuning::current(),
        chacha20,
        poly1305: poly1305::Core::new(),
        fused: Fused::beside(chacha20),
    }
}

/// What [`report`] says; to be printed.
///
/// # Examples
///
/// ```
/// let report = keyspring::cpu::report();
/// println!("{report}"); // the CPU, its tuning, and every backend
/// println!("ChaCha20 runs on {}, Poly1305 on {}", report.chacha20(), report.poly1305());
/// assert_eq!(report.poly1305_threshold().is_none(), report.poly1305() == "scalar");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Report {
    cpu: Identity,
    tuning: Tuning,
    chacha20: chacha::Core,
    poly1305: poly1305::Core,
    fused: Option<Fused>,
}

impl Report {
    /// The tuning of the kernels.
    ///
    /// # Examples
    ///
    /// ```
    /// println!("tuned as {}", keyspring::cpu::report().tuning());
    /// ```
    #[must_use]
    pub fn tuning(&self) -> &'static str {
        self.tuning.name()
    }

    /// The backend that ChaCha20 runs on.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(keyspring::cpu::backends().any(|name| name == keyspring::cpu::report().chacha20()));
    /// ```
    #[must_use]
    pub fn chacha20(&self) -> &'static str {
        self.chacha20.name()
    }

    /// The backend that Poly1305 runs on, from [its threshold](Self::poly1305_threshold) on.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(keyspring::cpu::backends().any(|name| name == keyspring::cpu::report().poly1305()));
    /// ```
    #[must_use]
    pub fn poly1305(&self) -> &'static str {
        self.poly1305.name()
    }

    /// The bytes from which on Poly1305 leaves the scalar path; `None` if it never does.
    ///
    /// # Examples
    ///
    /// ```
    /// let report = keyspring::cpu::report();
    /// assert_eq!(report.poly1305_threshold().is_none(), report.poly1305() == "scalar");
    /// ```
    #[must_use]
    pub fn poly1305_threshold(&self) -> Option<usize> {
        self.poly1305.threshold()
    }

    /// The backend that seals long messages in one pass, but for their beginning and their end;
    /// `None` if ChaCha20 and Poly1305 go over them one after the other.
    ///
    /// # Examples
    ///
    /// ```
    /// match keyspring::cpu::report().fused() {
    ///     Some(backend) => println!("one pass, on {backend}"),
    ///     None => println!("two passes"),
    /// }
    /// ```
    #[must_use]
    pub fn fused(&self) -> Option<&'static str> {
        self.fused.map(Fused::name)
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
        writeln!(f)?;
        write!(f, "poly1305   {}", self.poly1305())?;
        if let Some(threshold) = self.poly1305_threshold() {
            write!(f, " from {threshold} bytes on, scalar below")?;
        }
        list(f, usable(poly1305::backend::TABLE))?;
        writeln!(f)?;
        let fused = self.fused().unwrap_or("none");
        write!(f, "aead       one after the other; sealing fused: {fused}")?;
        list(f, usable(aead::TABLE))
    }
}

fn list<R: Row>(f: &mut fmt::Formatter<'_>, rows: impl Iterator<Item = Usable<R>>) -> fmt::Result {
    f.write_str("  (usable:")?;
    for row in rows {
        write!(f, " {}", row.name())?;
    }
    f.write_str(")")
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
    in_table(chacha::backend::TABLE, level)
        .or_else(|| in_table(poly1305::backend::TABLE, level))
        .or_else(|| in_table(aead::TABLE, level))
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
    /// kernels wherever they can run, not only where they pay: `"avx2+no-threshold"`. For benches, it
    /// may set another length of the sections, in blocks of 64 bytes: `"avx2+section-16"`.
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
        let mut forced =
            Forced { level, tuning: Tuning::Plain, no_threshold: false, section: None };
        for part in parts {
            if part == "no-threshold" {
                forced.no_threshold = true;
                continue;
            }
            if let Some(blocks) = part.strip_prefix("section-") {
                let blocks = blocks.parse().ok().filter(|blocks| *blocks > 0);
                forced.section = Some(blocks.ok_or(UnknownBackend(()))?);
                continue;
            }
            let tuning = Tuning::ALL.into_iter().find(|tuning| tuning.name() == part);
            forced.tuning = tuning.ok_or(UnknownBackend(()))?;
        }
        Ok(Guard { before: set_forced(Some(forced)), not_send: PhantomData })
    }

    /// Puts back on drop what was in force before.
    ///
    /// # Examples
    ///
    /// ```
    /// let guard: keyspring::cpu::Guard = keyspring::cpu::force("scalar")?;
    /// assert_eq!(keyspring::cpu::report().chacha20(), "scalar");
    /// drop(guard);
    /// # Ok::<(), keyspring::cpu::UnknownBackend>(())
    /// ```
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
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(keyspring::cpu::force("abacus").is_err());
    /// ```
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
    let pairs = usable(chacha::backend::TABLE).flat_map(|chacha20| {
        usable(poly1305::backend::TABLE).map(move |poly1305| {
            let (chacha20, poly1305) = (chacha::Core::on(chacha20), poly1305::Core::on(poly1305));
            let passed = aead_passes(chacha20, poly1305, None);
            let backends = [chacha20.name(), poly1305.name()];
            SelfTest { primitive: "chacha20-poly1305", backends, passed }
        })
    });
    let fused = usable(aead::TABLE).map(|row| {
        let fused = Fused::on(row);
        let passed = aead_passes(chacha::Core::new(), poly1305::Core::new(), Some(fused));
        SelfTest { primitive: "sealing fused", backends: [fused.name(), ""], passed }
    });
    chacha20.chain(poly1305).chain(pairs).chain(fused)
}

/// One line of [`self_test`].
///
/// # Examples
///
/// ```
/// for test in keyspring::cpu::self_test() {
///     println!("{test}");
///     assert!(test.passed());
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SelfTest {
    primitive: &'static str,
    /// The second is empty where one is all.
    backends: [&'static str; 2],
    passed: bool,
}

impl SelfTest {
    /// Whether the answer was right.
    ///
    /// # Examples
    ///
    /// ```
    /// let failed = keyspring::cpu::self_test().filter(|test| !test.passed()).count();
    /// assert_eq!(failed, 0);
    /// ```
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

/// Messages of 0, 61, 122, ... bytes: no multiple of a block, and between them they take every path
/// of every kernel.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=LONGEST).step_by(61)
}

const LONGEST: usize = 2111;

/// 0, 1, 2, ... with period 251.
fn counting<const N: usize>() -> [u8; N] {
    core::array::from_fn(|i| (i % 251) as u8)
}

/// Takes in what a backend gives at each length; its tag is compared with that of an independent
/// model (`vectors/check.py` has the primitives). Scalar, so that a fault is its own backend's.
fn judge() -> Poly1305 {
    let scalar = poly1305::Core::on(cpu::last(poly1305::backend::TABLE));
    Poly1305::over(Accumulator::new(scalar, &counting()))
}

/// The keystreams of all lengths, with each tuning.
fn chacha20_passes(core: chacha::Core) -> bool {
    const TAG: u128 = 0x54807d428082b6e87cf79abbd441e6c0;
    Tuning::ALL.into_iter().all(|tuning| {
        let mut judge = judge();
        for len in lengths() {
            let mut keystream = [0; LONGEST];
            let state = State::with_nonce_96(&counting(), &counting(), 0, 10);
            core.tuned(tuning).run(&state, 0, None, Keystream(&mut keystream[..len]));
            judge.update(&keystream[..len]);
        }
        judge.finalize() == TAG.to_be_bytes()
    })
}

/// The tags of all lengths, padded, with the threshold and without.
fn poly1305_passes(core: poly1305::Core) -> bool {
    const TAG: u128 = 0xfdf7796279d8b813c8cab1d4171a7340;
    [core, core.without_threshold()].into_iter().all(|core| {
        let mut judge = judge();
        for len in lengths() {
            let mut mac = Accumulator::new(core, &counting());
            mac.padded(&counting::<LONGEST>()[..len]);
            judge.update(&mac.tag());
        }
        judge.finalize() == TAG.to_be_bytes()
    })
}

/// Seals all lengths, opens them again and sees forgeries refused.
fn aead_passes(chacha20: chacha::Core, poly1305: poly1305::Core, fused: Option<Fused>) -> bool {
    const TAG: u128 = 0x878f3ac2439e29392b66b5bf146864ac;
    let cipher = ChaCha20Poly1305::on(&counting(), chacha20, poly1305, fused);
    let (nonce, aad) = (counting(), counting::<13>());
    let mut judge = judge();
    for len in lengths() {
        let (mut message, mut sealed) = (counting::<LONGEST>(), [0; LONGEST]);
        let (message, sealed) = (&mut message[..len], &mut sealed[..len]);
        let Ok(tag) = cipher.seal_in_place(&nonce, &aad, message) else { return false };
        judge.update(&tag);
        sealed.copy_from_slice(message);
        let forged = cipher.open_in_place(&nonce, &aad, message, &[0; 16]);
        let refused = forged.is_err() && message == sealed;
        let opened = cipher.open_in_place(&nonce, &aad, message, &tag);
        if !refused || opened.is_err() || *message != counting::<LONGEST>()[..len] {
            return false;
        }
    }
    judge.finalize() == TAG.to_be_bytes()
}

//! Which CPU this is, how the kernels are tuned to it, and which backends run.
//!
//! A *table* is a static list of *rows*, best first; a primitive's last row runs everywhere. The
//! first row that this machine can run is chosen once and remembered. [`report`] shows the choice,
//! [`self_test`] runs known answers on every row.
//!
//! ```
//! println!("{}", keyspring::cpu::report());
//! assert!(keyspring::cpu::self_test().all(|test| test.passed()));
//! ```
//!
//! Nothing here knows an instruction set: a row says for itself what it needs. What always holds: a
//! `Usable` names a row whose own `usable()` returned true on this machine.

use core::ops::Deref;
use core::sync::atomic::{AtomicU8, Ordering};

#[cfg(feature = "force-backend")]
pub use crate::report::{Guard, UnknownBackend, force};
pub use crate::report::{Report, SelfTest, backends, report, self_test};

/// What every row of every table says of itself.
#[derive(Debug)]
pub(crate) struct Head {
    /// The instruction set, lower case.
    pub(crate) name: &'static str,
    /// How much of a CPU the row asks for, on one scale for all tables: 0 scalar, 10 the 128-bit
    /// vectors that an architecture always has, 20 256-bit, 29 256-bit with masks and 32 registers,
    /// 30 512-bit, 40 512-bit with IFMA.
    pub(crate) level: u8,
    /// Whether this CPU and this operating system can run the row.
    pub(crate) usable: fn() -> bool,
}

/// One row of a table of backends.
pub(crate) trait Row: Sync + 'static {
    fn head(&self) -> &Head;

    fn name(&self) -> &'static str {
        self.head().name
    }

    fn level(&self) -> u8 {
        self.head().level
    }

    fn usable(&self) -> bool {
        (self.head().usable)()
    }
}

/// A row that has been found usable on this machine: the proof that its kernels may be called.
#[derive(Debug)]
pub(crate) struct Usable<R: 'static>(&'static R);

impl<R> Clone for Usable<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Usable<R> {}

impl<R: Row> Usable<R> {
    /// The row, for as long as there are tables.
    #[inline(always)]
    pub(crate) fn as_static(self) -> &'static R {
        self.0
    }

    /// What the row says of itself.
    #[inline(always)]
    pub(crate) fn head(self) -> &'static Head {
        self.0.head()
    }
}

impl<R> Deref for Usable<R> {
    type Target = R;

    #[inline(always)]
    fn deref(&self) -> &R {
        self.0
    }
}

/// Every usable row of a table, best first.
pub(crate) fn usable<R: Row>(table: &'static [R]) -> impl Iterator<Item = Usable<R>> {
    table.iter().filter(|row| row.usable()).map(Usable)
}

/// The index of the row that a table has settled on, remembered across calls.
#[derive(Debug)]
pub(crate) struct Memo(AtomicU8);

/// No table has this many rows.
const UNDECIDED: u8 = u8::MAX;

impl Memo {
    pub(crate) const fn new() -> Self {
        Self(AtomicU8::new(UNDECIDED))
    }
}

/// The best usable row of `table`, or the best one not above the level forced on this thread.
#[inline]
pub(crate) fn choose<R: Row>(table: &'static [R], memo: &Memo) -> Option<Usable<R>> {
    #[cfg(feature = "force-backend")]
    if let Some(forced) = forced() {
        let most = forced.level.min(forced.tuning.most_level());
        return usable(table).find(|row| row.level() <= most);
    }
    let index = match memo.0.load(Ordering::Relaxed) {
        UNDECIDED => first_usable(table, memo),
        index => index,
    };
    table.get(usize::from(index)).map(Usable)
}

/// Whether [`choose`] has no need to find out what this machine has: each CPUID leaves a virtual
/// machine, for 4 µs on Zen 5.
#[inline]
pub(crate) fn has_chosen(memo: &Memo) -> bool {
    #[cfg(feature = "force-backend")]
    if forced().is_some() {
        return true;
    }
    memo.0.load(Ordering::Relaxed) != UNDECIDED
}

/// The best row that every machine of the architecture can run.
pub(crate) fn everywhere<R: Row>(table: &'static [R]) -> Usable<R> {
    const LEVEL: u8 = 10;
    let row = table.iter().find(|row| row.level() <= LEVEL && row.usable());
    row.map(Usable).expect("the last row runs everywhere")
}

/// The last row of a table whose last row runs everywhere.
#[inline]
pub(crate) fn last<R: Row>(table: &'static [R]) -> Usable<R> {
    let row = table.last().filter(|row| row.usable());
    row.map(Usable).expect("the last row runs everywhere")
}

/// The index of the first usable row, or the length of the table. Relaxed is enough: every thread
/// that gets here computes the same.
#[cold]
fn first_usable<R: Row>(table: &'static [R], memo: &Memo) -> u8 {
    let most = Tuning::current().most_level();
    let index = table.iter().position(|row| row.usable() && row.level() <= most);
    let index = index.unwrap_or(table.len());
    memo.0.store(index as u8, Ordering::Relaxed);
    index as u8
}

/// How the kernels are tuned beyond what the CPU's features say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// By features alone.
    Plain,
    /// AMD Zen 5: integer vector operations have a latency of two cycles, so one block of ChaCha20
    /// is faster in general-purpose registers (Kivilinna, libgcrypt, 2025: about 50 %).
    Zen5,
    /// Intel Skylake-X, Cascade Lake and Cooper Lake: the whole core lowers its clock while it runs
    /// 512-bit vectors (Intel, Optimization Reference Manual, 2.6.3), which a few messages don't pay back.
    Ymm256,
}

impl Tuning {
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Zen5, Self::Ymm256];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Zen5 => "zen5",
            Self::Ymm256 => "ymm256",
        }
    }

    /// The highest level of a row to take.
    #[inline]
    fn most_level(self) -> u8 {
        match self {
            Self::Plain | Self::Zen5 => u8::MAX,
            Self::Ymm256 => 29,
        }
    }

    /// The tuning of this machine, or the one forced on this thread.
    #[inline]
    pub(crate) fn current() -> Self {
        #[cfg(feature = "force-backend")]
        if let Some(forced) = forced() {
            return forced.tuning;
        }
        static MEMO: AtomicU8 = AtomicU8::new(UNDECIDED);
        match MEMO.load(Ordering::Relaxed) {
            UNDECIDED => Self::decide(&MEMO),
            index => Self::ALL[usize::from(index)],
        }
    }

    #[cold]
    fn decide(memo: &AtomicU8) -> Self {
        let tuning = Self::of(&Identity::of_this_cpu());
        memo.store(tuning as u8, Ordering::Relaxed);
        tuning
    }

    /// The tuning for a CPU: a pure function of what CPUID says.
    ///
    /// Zen 5 is AuthenticAMD, family 1Ah, without AVX512_BMM (leaf 8000_0021h, EAX bit 23), which
    /// the parts that follow it in the same family have. Skylake-X, Cascade Lake and Cooper Lake are
    /// one model of GenuineIntel and differ by stepping.
    pub(crate) fn of(cpu: &Identity) -> Self {
        match (&cpu.vendor(), cpu.family(), cpu.model()) {
            (b"AuthenticAMD", 0x1a, _) if cpu.leaf_8000_0021_eax & (1 << 23) == 0 => Self::Zen5,
            (b"GenuineIntel", 6, 0x55) => Self::Ymm256,
            _ => Self::Plain,
        }
    }
}

/// The words of CPUID that say which CPU this is; all zero on other architectures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Leaf 0: EBX, EDX, ECX, in the order that spells the vendor.
    pub(crate) leaf_0_vendor: [u32; 3],
    /// Leaf 1: stepping, model, family.
    pub(crate) leaf_1_eax: u32,
    /// Leaf 8000_0021h, zero where there is none.
    pub(crate) leaf_8000_0021_eax: u32,
}

impl Identity {
    /// Enclaves trap the instruction, so there the CPU stays unknown.
    #[cfg(all(target_arch = "x86_64", not(target_env = "sgx")))]
    pub(crate) fn of_this_cpu() -> Self {
        // Older compilers hold `__cpuid` to be unsafe.
        #[allow(unused_unsafe)]
        fn cpuid(leaf: u32) -> core::arch::x86_64::CpuidResult {
            // SAFETY: every x86-64 CPU has the instruction, and nothing traps it here.
            unsafe { core::arch::x86_64::__cpuid(leaf) }
        }
        let leaf_0 = cpuid(0);
        let has_8000_0021 = cpuid(0x8000_0000).eax >= 0x8000_0021;
        Self {
            leaf_0_vendor: [leaf_0.ebx, leaf_0.edx, leaf_0.ecx],
            leaf_1_eax: cpuid(1).eax,
            leaf_8000_0021_eax: if has_8000_0021 { cpuid(0x8000_0021).eax } else { 0 },
        }
    }

    #[cfg(not(all(target_arch = "x86_64", not(target_env = "sgx"))))]
    pub(crate) fn of_this_cpu() -> Self {
        Self::default()
    }

    /// The vendor's twelve letters.
    pub(crate) fn vendor(&self) -> [u8; 12] {
        let mut vendor = [0; 12];
        for (bytes, word) in vendor.chunks_exact_mut(4).zip(self.leaf_0_vendor) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        vendor
    }

    /// The family, with the extended family added where the base is 15.
    pub(crate) fn family(&self) -> u32 {
        match self.leaf_1_eax >> 8 & 0xf {
            15 => 15 + (self.leaf_1_eax >> 20 & 0xff),
            base => base,
        }
    }

    /// The model, with the extended model in front where the family has one.
    pub(crate) fn model(&self) -> u32 {
        let base = self.leaf_1_eax >> 4 & 0xf;
        match self.leaf_1_eax >> 8 & 0xf {
            6 | 15 => (self.leaf_1_eax >> 16 & 0xf) << 4 | base,
            _ => base,
        }
    }
}

/// What [`force`] has set for this thread.
#[cfg(feature = "force-backend")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forced {
    pub(crate) level: u8,
    pub(crate) tuning: Tuning,
    /// Whether vector kernels run wherever they can, not only where they pay.
    pub(crate) no_threshold: bool,
    /// The blocks of ChaCha20 in a section, if they are not the constants'.
    pub(crate) section: Option<usize>,
}

#[cfg(feature = "force-backend")]
std::thread_local! {
    static FORCED: core::cell::Cell<Option<Forced>> = const { core::cell::Cell::new(None) };
}

#[cfg(feature = "force-backend")]
pub(crate) fn forced() -> Option<Forced> {
    FORCED.get()
}

/// Sets what is forced on this thread and returns what was before.
#[cfg(feature = "force-backend")]
pub(crate) fn set_forced(forced: Option<Forced>) -> Option<Forced> {
    FORCED.replace(forced)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaf 1 EAX as the vendors' manuals and published dumps give it.
    fn cpu(vendor: &[u8; 12], leaf_1_eax: u32, leaf_8000_0021_eax: u32) -> Identity {
        let word = |i: usize| u32::from_le_bytes(*vendor[4 * i..].first_chunk().unwrap());
        Identity { leaf_0_vendor: [word(0), word(1), word(2)], leaf_1_eax, leaf_8000_0021_eax }
    }

    #[test]
    fn a_cpu_is_tuned_by_its_vendor_family_and_model() {
        let bmm = 1 << 23;
        for (name, identity, tuning) in [
            ("Granite Ridge (Zen 5)", cpu(b"AuthenticAMD", 0x00b4_0f40, 0), Tuning::Zen5),
            ("Turin (Zen 5)", cpu(b"AuthenticAMD", 0x00b0_0f21, 0x0000_0fcf), Tuning::Zen5),
            ("Strix Point (Zen 5)", cpu(b"AuthenticAMD", 0x00b2_0f40, 0), Tuning::Zen5),
            ("family 1Ah with BMM", cpu(b"AuthenticAMD", 0x00b5_0f00, bmm), Tuning::Plain),
            ("Raphael (Zen 4)", cpu(b"AuthenticAMD", 0x00a6_0f12, 0), Tuning::Plain),
            ("Milan (Zen 3)", cpu(b"AuthenticAMD", 0x00a0_0f11, 0), Tuning::Plain),
            ("Rome (Zen 2)", cpu(b"AuthenticAMD", 0x0083_0f10, 0), Tuning::Plain),
            ("Skylake-X", cpu(b"GenuineIntel", 0x0005_0654, 0), Tuning::Ymm256),
            ("Cascade Lake", cpu(b"GenuineIntel", 0x0005_0657, 0), Tuning::Ymm256),
            ("Cooper Lake", cpu(b"GenuineIntel", 0x0005_065b, 0), Tuning::Ymm256),
            ("Ice Lake-SP", cpu(b"GenuineIntel", 0x0006_06a6, 0), Tuning::Plain),
            ("Haswell-EP", cpu(b"GenuineIntel", 0x0003_06f2, 0), Tuning::Plain),
            ("not Intel, model 55h", cpu(b"AuthenticAMD", 0x0005_0654, 0), Tuning::Plain),
            ("Sapphire Rapids", cpu(b"GenuineIntel", 0x000c_06f8, 0), Tuning::Plain),
            ("not AMD, family 1Ah", cpu(b"GenuineIntel", 0x00b4_0f40, 0), Tuning::Plain),
            ("no x86 at all", Identity::default(), Tuning::Plain),
        ] {
            assert_eq!(Tuning::of(&identity), tuning, "{name}");
        }
    }

    #[test]
    fn family_and_model_take_in_their_extended_parts() {
        let milan = cpu(b"AuthenticAMD", 0x00a0_0f11, 0);
        assert_eq!((milan.family(), milan.model()), (0x19, 0x01));
        let skylake_x = cpu(b"GenuineIntel", 0x0005_0654, 0);
        assert_eq!((skylake_x.family(), skylake_x.model()), (0x06, 0x55));
    }
}

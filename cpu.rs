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
//! A row says for itself what it needs. What an x86-64 CPU has is found out once, for all tables, by
//! as few CPUID instructions as there can be: each of them leaves a virtual machine, for 4 µs on
//! Zen 5, and one detection per table and feature would take ten. What always holds: a `Usable` names
//! a row whose own `usable()` returned true on this machine.

use core::ops::Deref;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

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

/// The best row that every machine of the architecture can run.
pub(crate) fn everywhere<R: Row>(table: &'static [R]) -> Usable<R> {
    let row = table.iter().find(|row| row.level() <= EVERYWHERE && row.usable());
    row.map(Usable).expect("the last row runs everywhere")
}

/// The level up to which rows ask for no more than their architecture.
const EVERYWHERE: u8 = 10;

/// Whether a choice takes no time for finding out what this machine has.
#[inline]
pub(crate) fn is_known() -> bool {
    #[cfg(feature = "force-backend")]
    if forced().is_some() {
        return true;
    }
    Machine::known().is_some()
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
        Machine::this().tuning()
    }

    /// The tuning for a CPU: a pure function of what CPUID says.
    ///
    /// Zen 5 is AuthenticAMD, family 1Ah, without AVX512_BMM (leaf 8000_0021h, EAX bit 23), which
    /// the parts that follow it in the same family have. Skylake-X, Cascade Lake and Cooper Lake are
    /// one model of GenuineIntel and differ by stepping.
    pub(crate) fn of(cpu: &Identity) -> Self {
        let has_bmm = cpu.leaf_8000_0021_eax & (1 << 23) != 0;
        match (&cpu.vendor(), cpu.family(), cpu.model()) {
            _ if cpu.is_amd_family_1ah() && !has_bmm => Self::Zen5,
            (b"GenuineIntel", 6, 0x55) => Self::Ymm256,
            _ => Self::Plain,
        }
    }
}

/// What an x86-64 CPU may have beyond the first of them, and what the operating system must keep for it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Avx2,
    /// F, BW and VL. The compiler takes AVX2 and FMA to come with them; the CPU has a bit for each.
    Avx512,
    /// The same and IFMA.
    Avx512Ifma,
    Rdrand,
    Rdseed,
}

#[cfg(target_arch = "x86_64")]
impl Feature {
    const ALL: [Self; 5] = [Self::Avx2, Self::Avx512, Self::Avx512Ifma, Self::Rdrand, Self::Rdseed];

    /// Whether this machine has it. Where there is no operating system that keeps vector registers, only
    /// who builds the program can say so.
    pub(crate) fn is_here(self) -> bool {
        let asks = cfg!(not(any(target_os = "none", target_os = "uefi")));
        self.is_compiled_in() || asks && Machine::this().has(self)
    }

    /// Whether the program runs on no machine that has it not.
    const fn is_compiled_in(self) -> bool {
        let avx512 = cfg!(all(
            target_feature = "avx512f",
            target_feature = "avx512bw",
            target_feature = "avx512vl",
        ));
        match self {
            Self::Avx2 => cfg!(target_feature = "avx2"),
            Self::Avx512 => avx512,
            Self::Avx512Ifma => avx512 && cfg!(target_feature = "avx512ifma"),
            Self::Rdrand => cfg!(target_feature = "rdrand"),
            Self::Rdseed => cfg!(target_feature = "rdseed"),
        }
    }
}

/// What has been found out of a machine: a bit for each feature, then the tuning, then a bit that is
/// always set.
#[derive(Clone, Copy)]
struct Machine(u32);

/// The machine that this is, 0 until it is known. Relaxed is enough: it is one number, and every thread
/// finds the same.
static THIS: AtomicU32 = AtomicU32::new(0);

impl Machine {
    const TUNING: u32 = 8;
    const KNOWN: u32 = 1 << 16;

    /// This one, if it is known by now.
    #[inline]
    fn known() -> Option<Self> {
        match THIS.load(Ordering::Relaxed) {
            0 => None,
            known => Some(Self(known)),
        }
    }

    /// This one.
    #[inline]
    fn this() -> Self {
        #[cold]
        fn find_out() -> Machine {
            let machine = Machine::of(&Identity::of_this_cpu());
            THIS.store(machine.0, Ordering::Relaxed);
            machine
        }

        Self::known().unwrap_or_else(find_out)
    }

    fn of(cpu: &Identity) -> Self {
        let tuning = (Tuning::of(cpu) as u32) << Self::TUNING;
        #[cfg(target_arch = "x86_64")]
        let features = {
            let bit = |feature| u32::from(cpu.has(feature)) << feature as u32;
            Feature::ALL.into_iter().map(bit).sum::<u32>()
        };
        #[cfg(not(target_arch = "x86_64"))]
        let features = 0;
        Self(Self::KNOWN | tuning | features)
    }

    #[cfg(target_arch = "x86_64")]
    fn has(self, feature: Feature) -> bool {
        self.0 & 1 << feature as u32 != 0
    }

    #[inline]
    fn tuning(self) -> Tuning {
        Tuning::ALL[(self.0 >> Self::TUNING & 0xff) as usize]
    }
}

/// The words of CPUID and XCR0 that say which CPU this is and what it has; all zero on other
/// architectures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Leaf 0: EBX, EDX, ECX, in the order that spells the vendor.
    pub(crate) leaf_0_vendor: [u32; 3],
    /// Leaf 1: stepping, model, family.
    pub(crate) leaf_1_eax: u32,
    pub(crate) leaf_1_ecx: u32,
    /// Leaf 7, zero where there is none.
    pub(crate) leaf_7_ebx: u32,
    /// Leaf 8000_0021h of AuthenticAMD, family 1Ah; else zero.
    pub(crate) leaf_8000_0021_eax: u32,
    /// The registers that the operating system saves, zero where it can't be asked.
    pub(crate) xcr0: u64,
}

impl Identity {
    /// Enclaves trap the instruction, so there the CPU stays unknown.
    #[cfg(all(target_arch = "x86_64", not(target_env = "sgx"), not(miri)))]
    pub(crate) fn of_this_cpu() -> Self {
        // Older compilers hold `__cpuid` to be unsafe.
        #[allow(unused_unsafe)]
        fn cpuid(leaf: u32) -> core::arch::x86_64::CpuidResult {
            // SAFETY: every x86-64 CPU has the instruction, and nothing traps it here.
            unsafe { core::arch::x86_64::__cpuid_count(leaf, 0) }
        }
        let (leaf_0, leaf_1) = (cpuid(0), cpuid(1));
        let mut cpu = Self {
            leaf_0_vendor: [leaf_0.ebx, leaf_0.edx, leaf_0.ecx],
            leaf_1_eax: leaf_1.eax,
            leaf_1_ecx: leaf_1.ecx,
            ..Self::default()
        };
        if leaf_0.eax >= 7 {
            cpu.leaf_7_ebx = cpuid(7).ebx;
        }
        // Each part of the family has the leaf, and these CPUs answer zeros for one that is hidden.
        if cpu.is_amd_family_1ah() {
            cpu.leaf_8000_0021_eax = cpuid(0x8000_0021).eax;
        }
        if cpu.leaf_1_ecx & Self::OSXSAVE != 0 {
            // SAFETY: the bit says that the operating system has enabled the instruction.
            cpu.xcr0 = unsafe { xcr0() };
        }
        cpu
    }

    #[cfg(not(all(target_arch = "x86_64", not(target_env = "sgx"), not(miri))))]
    pub(crate) fn of_this_cpu() -> Self {
        Self::default()
    }

    /// Leaf 1 ECX: the operating system has enabled XGETBV.
    #[cfg(target_arch = "x86_64")]
    const OSXSAVE: u32 = 1 << 27;

    /// Whether the CPU has a feature, and its operating system saves the registers.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn has(&self, feature: Feature) -> bool {
        // SSE and AVX; the same, the masks, the upper halves and the upper 16 registers.
        let [ymm, zmm] = [0x06, 0xe6].map(|kept| self.xcr0 & kept == kept);
        let leaf_1 = |bits: &[u32]| bits.iter().all(|bit| self.leaf_1_ecx & 1 << bit != 0);
        let leaf_7 = |bits: &[u32]| bits.iter().all(|bit| self.leaf_7_ebx & 1 << bit != 0);
        match feature {
            Feature::Avx2 => ymm && leaf_1(&[28]) && leaf_7(&[5]),
            Feature::Avx512 => {
                zmm && self.has(Feature::Avx2) && leaf_1(&[12]) && leaf_7(&[16, 30, 31])
            }
            Feature::Avx512Ifma => self.has(Feature::Avx512) && leaf_7(&[21]),
            Feature::Rdrand => leaf_1(&[30]),
            Feature::Rdseed => leaf_7(&[18]),
        }
    }

    fn is_amd_family_1ah(&self) -> bool {
        &self.vendor() == b"AuthenticAMD" && self.family() == 0x1a
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

#[cfg(all(target_arch = "x86_64", not(target_env = "sgx"), not(miri)))]
#[target_feature(enable = "xsave")]
fn xcr0() -> u64 {
    // SAFETY: the feature is enabled here, and register 0 is always there.
    unsafe { core::arch::x86_64::_xgetbv(0) }
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
        Identity {
            leaf_0_vendor: [word(0), word(1), word(2)],
            leaf_1_eax,
            leaf_8000_0021_eax,
            ..Identity::default()
        }
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

    /// The bits of leaf 1 ECX, leaf 7 EBX and XCR0 that each feature needs (Intel, Software Developer's
    /// Manual, volume 1, 14.3, 14.7, 15.2 and 15.4; 7.3.17).
    #[cfg(target_arch = "x86_64")]
    const NEEDS: [(Feature, [&[u32]; 3]); 5] = [
        (Feature::Avx2, [&[28], &[5], &[1, 2]]),
        (Feature::Avx512, [&[12, 28], &[5, 16, 30, 31], &[1, 2, 5, 6, 7]]),
        (Feature::Avx512Ifma, [&[12, 28], &[5, 16, 21, 30, 31], &[1, 2, 5, 6, 7]]),
        (Feature::Rdrand, [&[30], &[], &[]]),
        (Feature::Rdseed, [&[], &[18], &[]]),
    ];

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_feature_needs_its_bits_and_registers_that_are_saved_and_no_more() {
        let mask = |bits: &[u32]| bits.iter().map(|bit| 1_u32 << bit).sum::<u32>();
        assert_eq!(NEEDS.map(|(feature, _)| feature), Feature::ALL);
        for (feature, needs) in NEEDS {
            let [leaf_1, leaf_7, saved] = needs;
            let least = Identity {
                leaf_1_ecx: mask(leaf_1),
                leaf_7_ebx: mask(leaf_7),
                xcr0: mask(saved).into(),
                ..Identity::default()
            };
            assert!(least.has(feature) && Machine::of(&least).has(feature), "{feature:?}");
            for (word, bits) in needs.into_iter().enumerate() {
                for bit in bits {
                    let mut less = least;
                    match word {
                        0 => less.leaf_1_ecx ^= 1 << bit,
                        1 => less.leaf_7_ebx ^= 1 << bit,
                        _ => less.xcr0 ^= 1 << bit,
                    }
                    let machine = Machine::of(&less);
                    assert!(!machine.has(feature), "{feature:?} without bit {bit} of word {word}");
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn this_machine_has_what_the_standard_library_finds() {
        use std::is_x86_feature_detected as has;
        let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("fma");
        let found =
            [has!("avx2"), avx512, avx512 && has!("avx512ifma"), has!("rdrand"), has!("rdseed")];
        assert_eq!(Feature::ALL.map(Feature::is_here), found);
    }

    #[test]
    fn what_is_known_of_a_machine_keeps_its_tuning() {
        for (leaf_1_eax, vendor) in
            [(0x00b0_0f21, b"AuthenticAMD"), (0x0005_0654, b"GenuineIntel"), (0, b"            ")]
        {
            let identity = cpu(vendor, leaf_1_eax, 0);
            assert_eq!(Machine::of(&identity).tuning(), Tuning::of(&identity));
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

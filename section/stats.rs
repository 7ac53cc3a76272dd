//! How long sections take, per primitive and backend.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::Primitive;
use crate::cpu::Head;

/// No table has more rows.
const ROWS: usize = 8;

/// A row of counters for each primitive; a counter belongs to the backend that took it first.
static COUNTERS: [[Counter; ROWS]; Primitive::ALL.len()] =
    [const { [const { Counter::new() }; ROWS] }; Primitive::ALL.len()];

/// One reading of the clock that sections are timed by: the time stamp counter on x86-64, the
/// virtual counter (CNTVCT) on AArch64, always 0 elsewhere. It ticks at a fixed rate, not with the
/// core.
///
/// # Examples
///
/// ```
/// let start = keyspring::section::ticks();
/// let passed = keyspring::section::ticks() - start;
/// ```
#[inline]
#[must_use]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_lfence, _rdtsc};

        // Read after all that stands before it and before all that follows.
        // SAFETY: every x86-64 CPU has the three instructions.
        unsafe {
            _mm_lfence();
            let now = _rdtsc();
            _mm_lfence();
            now
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let now;
        // SAFETY: the counter may be read, and nothing else is touched.
        unsafe {
            core::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) now, options(nostack));
        }
        now
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Runs `code` and counts it.
#[inline]
pub(super) fn timed<R>(primitive: Primitive, head: &'static Head, code: impl FnOnce() -> R) -> R {
    let start = ticks();
    let result = code();
    let passed = ticks().wrapping_sub(start);
    let counters = &COUNTERS[primitive as usize];
    if let Some(counter) = counters.iter().find(|counter| counter.is_of(head)) {
        counter.add(passed);
    }
    result
}

/// How the sections of one primitive have fared on one backend; from [`stats`]. Times are in
/// [`ticks`].
///
/// # Examples
///
/// ```
/// use keyspring::section;
///
/// keyspring::poly1305::mac(&[7; 32], &[1; 4096]);
/// for stats in section::stats() {
///     println!("{} on {}: {} ticks on average", stats.primitive, stats.backend, stats.average());
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// `"chacha20"`, `"poly1305"`, or `"aead"` for both in one pass.
    pub primitive: &'static str,
    /// The backend.
    pub backend: &'static str,
    /// The bytes of the longest section.
    pub bytes: usize,
    /// The sections since the start or the last [`reset_stats`].
    pub count: u64,
    /// The first of them.
    pub first: u64,
    /// The longest of them. Interrupts and other programs count as well, if they came in between.
    pub maximum: u64,
    /// All of them together.
    pub total: u64,
}

impl Stats {
    /// The mean time of a section.
    ///
    /// # Examples
    ///
    /// ```
    /// let all = keyspring::section::stats();
    /// let slowest = all.max_by_key(|stats| stats.average());
    /// ```
    #[must_use]
    pub fn average(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }
}

/// What has been counted so far in all threads, for each primitive and backend that had a section.
///
/// # Examples
///
/// ```
/// use keyspring::section;
///
/// keyspring::poly1305::mac(&[7; 32], &[1; 4096]);
/// let stats = section::stats().find(|stats| stats.primitive == "poly1305");
/// assert!(stats.is_some_and(|stats| stats.maximum >= stats.average()));
/// ```
pub fn stats() -> impl Iterator<Item = Stats> {
    Primitive::ALL.into_iter().flat_map(|primitive| {
        COUNTERS[primitive as usize].iter().filter_map(move |counter| counter.read(primitive))
    })
}

/// Forgets what has been counted, for instance between first use and a sweep of lengths. Sections
/// that other threads end meanwhile may be forgotten in part.
///
/// # Examples
///
/// ```
/// use keyspring::section;
///
/// keyspring::poly1305::mac(&[7; 32], &[1; 4096]);
/// section::reset_stats();
/// assert_eq!(section::stats().count(), 0);
/// ```
pub fn reset_stats() {
    COUNTERS.as_flattened().iter().for_each(Counter::reset);
}

#[derive(Debug)]
struct Counter {
    /// The backend; null until it is taken.
    head: AtomicPtr<Head>,
    count: AtomicU64,
    first: AtomicU64,
    maximum: AtomicU64,
    total: AtomicU64,
}

impl Counter {
    const fn new() -> Self {
        Self {
            head: AtomicPtr::new(core::ptr::null_mut()),
            count: AtomicU64::new(0),
            first: AtomicU64::new(0),
            maximum: AtomicU64::new(0),
            total: AtomicU64::new(0),
        }
    }

    /// Whether it counts for a backend; one that counts for none is taken.
    fn is_of(&self, head: &'static Head) -> bool {
        let ours = core::ptr::from_ref(head).cast_mut();
        let taken = self.head.compare_exchange(
            core::ptr::null_mut(),
            ours,
            Ordering::Release,
            Ordering::Acquire,
        );
        taken.is_ok() || self.head().is_some_and(|ours| ours.name == head.name)
    }

    fn head(&self) -> Option<&'static Head> {
        // SAFETY: the pointer is null or that of a `&'static Head`, by `is_of`.
        unsafe { self.head.load(Ordering::Acquire).as_ref() }
    }

    fn add(&self, passed: u64) {
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            self.first.store(passed, Ordering::Relaxed);
        }
        self.maximum.fetch_max(passed, Ordering::Relaxed);
        self.total.fetch_add(passed, Ordering::Relaxed);
    }

    fn read(&self, primitive: Primitive) -> Option<Stats> {
        let [count, first, maximum, total] = [&self.count, &self.first, &self.maximum, &self.total]
            .map(|number| number.load(Ordering::Relaxed));
        let head = self.head().filter(|_| count > 0)?;
        let (backend, bytes) = (head.name, primitive.section(head));
        Some(Stats { primitive: primitive.name(), backend, bytes, count, first, maximum, total })
    }

    fn reset(&self) {
        for number in [&self.count, &self.first, &self.maximum, &self.total] {
            number.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_keeps_the_first_the_longest_and_the_mean() {
        const HEAD: Head = Head { name: "abacus", level: 0, usable: || true };
        let counter = Counter::new();
        assert_eq!(counter.read(Primitive::Aead), None);
        assert!(counter.is_of(&HEAD) && counter.is_of(&HEAD));
        for passed in [30, 50, 10] {
            counter.add(passed);
        }
        let stats = counter.read(Primitive::Aead).expect("it has counted");
        assert_eq!((stats.primitive, stats.backend), ("aead", "abacus"));
        assert_eq!((stats.count, stats.first, stats.maximum, stats.average()), (3, 30, 50, 30));
        counter.reset();
        assert_eq!(counter.read(Primitive::Aead), None);
    }

    #[test]
    fn a_counter_is_of_one_backend() {
        const ONE: Head = Head { name: "one", level: 0, usable: || true };
        const OTHER: Head = Head { name: "other", level: 0, usable: || true };
        let counter = Counter::new();
        assert!(counter.is_of(&ONE));
        assert!(!counter.is_of(&OTHER));
    }
}

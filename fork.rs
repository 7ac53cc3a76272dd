//! "Have we been forked?": one page that the kernel wipes in a child, and one load.
//!
//! ```text
//! page:   | stamp u64 | zeros ...        0 = forked since, or never asked
//! ```
//!
//! A stamp is never zero. Whoever keeps a state takes the stamp first and the secret after it; then
//! the stamp of a state is never the current one of a child that inherited the state, since the
//! child's page is zero and the counter that new stamps come from, in ordinary memory, is inherited.
//!
//! Comparing PIDs would not do, since they wrap and `clone` can share them; nor would
//! `pthread_atfork`, which `clone` does not call.

use core::num::NonZeroU64;

/// What distinguishes this process from those that it is a fork of.
#[allow(dead_code, reason = "which of the three a build can meet depends on its target")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Changes with a fork.
    Process(NonZeroU64),
    /// There are no forks on this platform; or nothing is known of it, and the documentation leaves
    /// them to the owner.
    NoFork,
    /// There are forks and no way to notice one.
    Unknown,
}

#[cfg(all(
    feature = "std",
    feature = "getrandom",
    target_os = "linux",
    target_has_atomic = "64"
))]
pub(crate) use self::linux::renew;
#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
pub(crate) use self::linux::stamp;

#[cfg(not(all(feature = "std", target_os = "linux", target_has_atomic = "64")))]
pub(crate) fn stamp() -> Stamp {
    if cfg!(all(feature = "std", unix)) { Stamp::Unknown } else { Stamp::NoFork }
}

#[cfg(all(feature = "std", target_os = "linux", target_has_atomic = "64"))]
mod linux {
    use core::num::NonZeroU64;
    use core::ptr;
    use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    use super::Stamp;

    /// The page, or null before the first call, or [`NONE`].
    static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

    /// Stands for a page that could not be had. It is never read or written.
    static NONE: AtomicU64 = AtomicU64::new(0);

    /// The last stamp given out.
    static LAST: AtomicU64 = AtomicU64::new(0);

    /// This process's stamp: the same until a fork, another in the child.
    #[inline]
    pub(crate) fn stamp() -> Stamp {
        let mut page = PAGE.load(Ordering::Acquire);
        if page.is_null() {
            page = make_page();
        }
        if ptr::eq(page, &NONE) {
            return Stamp::Unknown;
        }
        // SAFETY: the pointer is that of a page that `make_page` mapped, and it is never unmapped.
        let word = unsafe { &*page };
        match NonZeroU64::new(word.load(Ordering::Relaxed)) {
            Some(stamp) => Stamp::Process(stamp),
            None => new_stamp(word),
        }
    }

    /// Makes the next stamp another, on a new page: for a process that was copied in a way that no
    /// kernel reports.
    #[cfg(all(feature = "getrandom", target_has_atomic = "64"))]
    pub(crate) fn renew() {
        PAGE.store(ptr::null_mut(), Ordering::Release);
    }

    /// The first call in a process. Two threads may both be here: the first to store wins.
    #[cold]
    fn new_stamp(word: &AtomicU64) -> Stamp {
        let fresh = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let stamp = match word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => fresh,
            Err(earlier) => earlier,
        };
        Stamp::Process(NonZeroU64::new(stamp).expect("neither is zero"))
    }

    /// Maps the page, once; a thread that comes second unmaps its own.
    #[cold]
    fn make_page() -> *mut AtomicU64 {
        let none = ptr::from_ref(&NONE).cast_mut();
        let page = map_wiped_on_fork().unwrap_or(none);
        match PAGE.compare_exchange(ptr::null_mut(), page, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => page,
            Err(earlier) => {
                if !ptr::eq(page, none) {
                    // SAFETY: this thread mapped the page and has shown it to nobody.
                    unsafe { libc::munmap(page.cast(), page_len()) };
                }
                earlier
            }
        }
    }

    /// A page of zeros that a fork wipes in the child, if the kernel can (Linux 4.14 and later).
    fn map_wiped_on_fork() -> Option<*mut AtomicU64> {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping, anywhere, touches no memory that exists.
        let page = unsafe { libc::mmap(ptr::null_mut(), page_len(), access, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the advice is for the page just mapped; it changes what a fork does with it.
        let wiped = unsafe { libc::madvise(page, page_len(), libc::MADV_WIPEONFORK) } == 0;
        // Some emulators accept whatever advice they are given: one that does not exist must fail.
        // SAFETY: as above; the kernel refuses it.
        let honest = unsafe { libc::madvise(page, page_len(), -1) } != 0;
        if wiped && honest {
            return Some(page.cast());
        }
        // SAFETY: the page was mapped above and shown to nobody.
        unsafe { libc::munmap(page, page_len()) };
        None
    }

    fn page_len() -> usize {
        // SAFETY: the call has no preconditions.
        let len = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(len).expect("the page size is known on Linux")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_stays_in_one_process() {
        assert_eq!(stamp(), stamp());
    }
}

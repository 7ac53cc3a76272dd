//! The generator of each thread: when its page may be used.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

use zeroize::Zeroize;

use super::direct::{self, step};
pub(super) use super::page::mode;
use super::page::{self, Page, SHORT, Slot};
pub(super) use super::paged::reseed_all;
use super::paged::{self, BULK, Failure, Generator, try_again};
use super::seed::{add_to_pool, draw};
use super::{Error, Health, SystemEntropy};
use crate::fork;

#[cfg(test)]
use self::faults::Source;
#[cfg(not(test))]
use super::SystemEntropy as Source;

/// What heads the input of the extractor, padded to 32 bytes.
const LABEL: [u8; 32] = *b"keyspring/v1/seed\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// What a thread has in ordinary memory. None of it is secret, and a fork copies it all.
struct Local {
    /// Not 0 while the page is in use: a signal handler must leave it alone (R5, R6). It is no byte,
    /// since Zen 3 takes 1 ns longer to store two and load one in each call.
    busy: AtomicU32,
    /// What is left of the page's buffer.
    left: Cell<usize>,
    /// The page, while nobody wants a reseed.
    ready: Cell<Option<Page>>,
    want_reseed: AtomicBool,
    slot: Cell<Option<Slot>>,
    /// The thread has ended, or can't have a page.
    closed: Cell<bool>,
    health: Cell<Health>,
}

std::thread_local! {
    // No destructor, so it can be used from first to last, and is found by plain loads.
    static LOCAL: Local = const {
        Local {
            busy: AtomicU32::new(0),
            left: Cell::new(0),
            ready: Cell::new(None),
            want_reseed: AtomicBool::new(false),
            slot: Cell::new(None),
            closed: Cell::new(false),
            health: Cell::new(Health::NEW),
        }
    };
}

/// Fills `dst`, or leaves it all zero and says why.
#[inline]
pub(super) fn fill(dst: &mut [u8]) -> Result<(), Error> {
    let len = dst.len();
    if SHORT.contains(&len)
        && LOCAL
            .with(|local| local.take_ready(len, false, |page, left| page.take_short(left, dst)))
            .is_some()
    {
        return Ok(());
    }
    fill_aged(dst, false)
}

/// The same for keys, for which the age of the seed is looked at on each call.
#[inline]
pub(super) fn fill_keys(dst: &mut [u8]) -> Result<(), Error> {
    fill_aged(dst, dst.len() >= 16)
}

/// Fills an array. A short one is copied where the caller is.
#[inline(always)]
pub(super) fn fill_array<const N: usize>(dst: &mut [u8; N], keys: bool) -> Result<(), Error> {
    let aged = keys && N >= 16;
    if N <= *SHORT.end()
        && LOCAL
            .with(|local| local.take_ready(N, aged, |page, left| page.take(left, dst)))
            .is_some()
    {
        return Ok(());
    }
    fill_aged(dst, aged)
}

#[inline(never)]
fn fill_aged(dst: &mut [u8], aged: bool) -> Result<(), Error> {
    let len = dst.len();
    if len < BULK
        && LOCAL
            .with(|local| local.take_ready(len, aged, |page, left| page.take(left, dst)))
            .is_some()
    {
        return Ok(());
    }
    fill_slowly(dst, aged)
}

/// The next few bytes, in registers, if they lie ready.
#[inline(always)]
pub(super) fn word<const N: usize>() -> Option<[u8; N]> {
    LOCAL.with(|local| {
        local.take_ready(N, false, |page, left| {
            let mut word = [0; N];
            page.take(left, &mut word);
            word
        })
    })
}

#[cold]
#[inline(never)]
fn fill_slowly(dst: &mut [u8], aged: bool) -> Result<(), Error> {
    let filled = LOCAL.with(|local| {
        paged::fill(dst, |dst| local.on_page(|generator, wanted| generator.take(dst, aged, wanted)))
    });
    filled.or_else(|_| direct::fill(dst))
}

impl Local {
    /// The hot path: what `take` takes, which is told what is left of the page's buffer.
    #[inline(always)]
    fn take_ready<T>(
        &self,
        len: usize,
        aged: bool,
        take: impl FnOnce(Page, usize) -> T,
    ) -> Option<T> {
        if self.is_busy() {
            return None;
        }
        self.enter();
        let left = self.left.get();
        let ready = self.ready.get().filter(|_| len <= left);
        let taken = ready.and_then(|page| {
            paged::take_ready(page, aged, |page| {
                let taken = take(page, left);
                step();
                self.left.set(left - len);
                taken
            })
        });
        self.leave();
        taken
    }

    #[inline(always)]
    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) != 0
    }

    #[inline(always)]
    fn enter(&self) {
        self.busy.store(1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn leave(&self) {
        compiler_fence(Ordering::SeqCst);
        self.busy.store(0, Ordering::Relaxed);
    }

    /// Runs `f` on the page, and tells it whether somebody wants a reseed; unless this call
    /// interrupts another or there is no page.
    fn on_page<T>(
        &self,
        f: impl FnOnce(&mut Generator<'_, Source>, bool) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.is_busy() {
            return Err(Failure::NoPage);
        }
        self.enter();
        let result = self.page().ok_or(Failure::NoPage).and_then(|page| {
            self.ready.set(Some(page));
            compiler_fence(Ordering::SeqCst);
            // Before the seed: who asks for another meanwhile gets it next time.
            let wanted = self.want_reseed.swap(false, Ordering::Relaxed);
            let (mut left, mut health) = (self.left.get(), self.health.get());
            let result = f(
                &mut Generator {
                    page,
                    left: &mut left,
                    source: &mut Source,
                    label: &LABEL,
                    health: &mut health,
                    of_thread: true,
                },
                wanted,
            );
            self.left.set(left);
            self.health.set(health);
            result
        });
        self.leave();
        result
    }

    /// The page, which is set up on a thread's first call, and again after a restore.
    fn page(&self) -> Option<Page> {
        if let Some(slot) = self.slot.get() {
            if slot.is_current() {
                return Some(slot.page);
            }
            self.forget(slot);
        }
        if self.closed.get() {
            return None;
        }
        let slot = Slot::take();
        self.slot.set(slot);
        // Without a notice of its end, the thread would never give the page back.
        if slot.is_none() || !notify_at_exit() {
            self.close();
        }
        Some(self.slot.get()?.page)
    }

    /// Gives the page back, for good.
    fn close(&self) {
        self.closed.set(true);
        if let Some(slot) = self.slot.get() {
            self.forget(slot);
        }
    }

    /// Gives the page back.
    fn forget(&self, slot: Slot) {
        self.slot.set(None);
        self.ready.set(None);
        self.left.set(0);
        // A signal handler that comes now finds no page.
        compiler_fence(Ordering::SeqCst);
        slot.release();
    }

    /// Has the next call draw a seed.
    fn want_reseed(&self) {
        self.want_reseed.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.ready.set(None);
    }

    fn reseed(&self) -> Result<(), Error> {
        if self.is_busy() {
            self.want_reseed();
            return Ok(());
        }
        match try_again(|| self.on_page(|generator, _| generator.reseed())) {
            Ok(()) => Ok(()),
            Err(Failure::NoPage) => draw(&mut SystemEntropy).map(|mut bytes| bytes.zeroize()),
            Err(Failure::Source(error)) => Err(error),
            // The page was lost each time, so the next call will seed.
            Err(Failure::Lost) => Ok(()),
        }
    }
}

/// Draws new entropy for this thread; in a signal handler that interrupts a call, the next does.
pub(super) fn reseed() -> Result<(), Error> {
    LOCAL.with(Local::reseed)
}

/// Mixes bytes into the pool, and has this thread's next call draw a seed.
pub(super) fn add_entropy(bytes: &[u8]) {
    add_to_pool(bytes);
    LOCAL.with(Local::want_reseed);
}

/// Voids every page there is.
pub(super) fn on_restore() {
    fork::renew();
    page::start_anew();
    reseed_all();
}

pub(super) fn health() -> Health {
    LOCAL.with(|local| local.health.get())
}

/// Has the thread's end give its page back: after the destructors of Rust, before the memory of the
/// thread is gone. Nothing is allocated for one of the first 32 keys of a process (glibc).
fn notify_at_exit() -> bool {
    extern "C" fn at_exit(_: *mut libc::c_void) {
        LOCAL.with(Local::close);
    }

    /// The key, plus 1.
    static KEY: AtomicU32 = AtomicU32::new(0);
    if KEY.load(Ordering::Acquire) == 0 {
        let mut key = 0;
        // SAFETY: `key` has room for one, and the destructor is never unloaded before it has run.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(at_exit)) } != 0 {
            return false;
        }
        if KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: another thread came first, and nobody has seen this key.
            unsafe { libc::pthread_key_delete(key) };
        }
    }
    // The destructor runs where the value is not null.
    let value = ptr::from_ref(&KEY).cast();
    // SAFETY: the key was created and is never deleted.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Acquire) - 1, value) == 0 }
}

#[cfg(test)]
#[path = "faults.rs"]
pub(super) mod faults;

//! The generator of each thread: when its page is used, and when it is not trusted.
//!
//! The steps and their order are those of [`crate::crng`]'s design notes; the rules R1 to R7 are
//! named where they hold.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, compiler_fence};

use zeroize::Zeroize;

pub(super) use super::page::mode;
use super::page::{self, LONGEST, Page, Slot};
use super::seed::{add_to_pool, draw, extract, pool};
use super::{Error, Health, SystemEntropy, direct};
use crate::chacha::data::Keystream;
use crate::chacha::{Core, State};
use crate::fork;

#[cfg(test)]
use self::faults::{entropy, step};

/// The operating system's entropy.
#[cfg(not(test))]
fn entropy() -> Result<[u8; 32], Error> {
    draw(&mut SystemEntropy)
}

/// Where the tests strike.
#[cfg(not(test))]
#[inline(always)]
fn step() {}

/// From this length on, output is made under a key of its own.
const BULK: usize = 512;

/// The most that one draw from the page leads to.
const BULK_BYTES: usize = 1 << 20;

/// How often a call starts again because the page was lost in the middle of it.
const TRIES: usize = 3;

/// The blocks of a refill: the first is for a session key, the last for steady demand and as much
/// as a page holds. 256 bytes cost 141 ns with 17 blocks at most, 111 with 62 (AVX2, Zen 3).
const REFILLS: [usize; 3] = [5, 17, 62];

/// A buffer that lived longer than this was too long.
const SHORT_LIVED_NS: u64 = 1_000_000_000;

/// When a seed is too old, in output and in time: random.c's limits.
const RESEED_BYTES: u64 = 1 << 20;
const RESEED_NS: u64 = 60_000_000_000;

/// How long keys wait after a reseed that failed before they ask again.
const RETRY_NS: u64 = 1_000_000_000;

/// What heads the input of the extractor, padded to 32 bytes.
const LABEL: [u8; 32] = *b"keyspring/v1/seed\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// A number that has its cache lines to itself: all threads read it on each call.
#[repr(align(128))]
struct Alone(AtomicU64);

/// Every seed of another epoch is void. 0 stands for no seed.
static EPOCH: Alone = Alone(AtomicU64::new(1));

/// The last stamp given out.
static LAST_STAMP: AtomicU64 = AtomicU64::new(0);

/// How often the process was restored: pages from before are void.
static RESTORES: AtomicU64 = AtomicU64::new(0);

/// What a thread has in ordinary memory. None of it is secret, and a fork copies it all.
struct Local {
    /// The page is in use: a signal handler must leave it alone (R5, R6).
    busy: AtomicBool,
    want_reseed: AtomicBool,
    slot: Cell<Option<Slot>>,
    /// The thread has ended, or can't have a page.
    closed: Cell<bool>,
    restores: Cell<u64>,
    reseeds: Cell<u64>,
    refills: Cell<u64>,
    /// Why the last reseed failed.
    error: Cell<Option<Error>>,
}

std::thread_local! {
    // No destructor, so it can be used from first to last, and is found by plain loads.
    static LOCAL: Local = const {
        Local {
            busy: AtomicBool::new(false),
            want_reseed: AtomicBool::new(false),
            slot: Cell::new(None),
            closed: Cell::new(false),
            restores: Cell::new(0),
            reseeds: Cell::new(0),
            refills: Cell::new(0),
            error: Cell::new(None),
        }
    };
}

/// Fills `dst`, or leaves it all zero and says why.
#[inline(always)]
pub(super) fn fill(dst: &mut [u8]) -> Result<(), Error> {
    if dst.len() < BULK && LOCAL.with(|local| local.take_ready(dst, false)) {
        return Ok(());
    }
    fill_slowly(dst, false)
}

/// The same for a key, for which the age of the seed is looked at on each call.
#[inline(always)]
pub(super) fn fill_key(dst: &mut [u8]) -> Result<(), Error> {
    let aged = dst.len() >= 16;
    if dst.len() < BULK && LOCAL.with(|local| local.take_ready(dst, aged)) {
        return Ok(());
    }
    fill_slowly(dst, aged)
}

#[cold]
#[inline(never)]
fn fill_slowly(dst: &mut [u8], aged: bool) -> Result<(), Error> {
    let filled = LOCAL.with(|local| {
        if dst.len() < BULK { local.take(dst, aged).is_some() } else { local.fill_bulk(dst, aged) }
    });
    if filled { Ok(()) } else { direct::fill(dst) }
}

impl Local {
    /// The hot path: bytes that lie ready under a seed that is good.
    #[inline(always)]
    fn take_ready(&self, dst: &mut [u8], aged: bool) -> bool {
        if self.busy.load(Ordering::Relaxed) {
            return false;
        }
        self.enter();
        let taken = self.slot.get().is_some_and(|slot| self.take_from(slot.page, dst, aged));
        self.leave();
        taken
    }

    #[inline(always)]
    fn take_from(&self, page: Page, dst: &mut [u8], aged: bool) -> bool {
        let stamp = page.stamp();
        if stamp == 0 || self.must_seed(page) || aged && is_old(page) {
            return false;
        }
        step();
        let (position, end) = (page.position() as usize, page.end() as usize);
        if position + dst.len() > end || end > LONGEST {
            return false;
        }
        step();
        page.take(position, dst);
        step();
        page.set_position((position + dst.len()) as u32);
        // R3: nothing is handed out before this.
        page.stamp() == stamp
    }

    /// Whether the seed is void or somebody asked for another.
    #[inline(always)]
    fn must_seed(&self, page: Page) -> bool {
        page.epoch() != EPOCH.0.load(Ordering::Acquire) || self.want_reseed.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn enter(&self) {
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn leave(&self) {
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
    }

    /// Runs `f` on the page, unless this call interrupts another or there is no page.
    fn on_page<T>(&self, f: impl FnOnce(Page) -> T) -> Option<T> {
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.enter();
        let result = self.page().map(f);
        self.leave();
        result
    }

    /// The whole way, with seeds and refills. The page, and the stamp that `dst` was filled under.
    fn take(&self, dst: &mut [u8], aged: bool) -> Option<(Page, u64)> {
        (0..TRIES).find_map(|_| {
            self.on_page(|page| {
                let stamp = self.try_take(page, dst, aged);
                if stamp.is_none() {
                    page.wipe();
                    dst.zeroize();
                }
                Some((page, stamp?))
            })?
        })
    }

    fn try_take(&self, page: Page, mut dst: &mut [u8], aged: bool) -> Option<u64> {
        let mut stamp = page.stamp();
        step();
        if stamp == 0 || self.must_seed(page) || aged && is_old(page) {
            stamp = self.seed(page)?;
        }
        loop {
            step();
            // R7: once each.
            let (position, end) = (page.position() as usize, page.end() as usize);
            if end > LONGEST || position > end {
                return None;
            }
            step();
            let (head, rest) = dst.split_at_mut(dst.len().min(end - position));
            page.take(position, head);
            step();
            page.set_position((position + head.len()) as u32);
            if rest.is_empty() {
                break;
            }
            dst = rest;
            if is_old(page) || page.bytes_since() >= RESEED_BYTES {
                // Under another stamp the bytes taken so far would be a parent's too.
                if self.seed(page)? != stamp {
                    return None;
                }
            } else if !self.refill(page) {
                return None;
            }
        }
        step();
        // R3.
        (page.stamp() == stamp).then_some(stamp)
    }

    /// Makes a new key of the operating system's entropy, the old key and the pool. The stamp that
    /// it was made under.
    fn seed(&self, page: Page) -> Option<u64> {
        let epoch = EPOCH.0.load(Ordering::Acquire);
        page.set_epoch(0);
        step();
        self.want_reseed.store(false, Ordering::Relaxed);
        // R1: the stamp before any secret. It changes after a loss alone, and then nothing of the
        // page is used.
        let mut stamp = page.stamp();
        step();
        if stamp == 0 {
            page.wipe();
            step();
            stamp = LAST_STAMP.fetch_add(1, Ordering::Relaxed) + 1;
            page.set_stamp(stamp);
        } else {
            page.empty();
        }
        step();
        match entropy() {
            Ok(mut entropy) => {
                step();
                self.rekey(page, stamp, epoch, &entropy);
                entropy.as_mut_slice().zeroize();
                page.set_bytes_since(0);
                page.set_seeded_at(now());
                self.reseeds.set(self.reseeds.get() + 1);
                self.error.set(None);
            }
            Err(error) => {
                // Output goes on under the old key, if there is one: `refill` looks.
                page.set_seeded_at(now().wrapping_sub(RESEED_NS - RETRY_NS));
                self.error.set(Some(error));
            }
        }
        step();
        if !self.refill(page) {
            return None;
        }
        step();
        page.set_epoch(epoch);
        step();
        // The stamp from before, not one read again: a fork in between has made it zero.
        (page.stamp() == stamp).then_some(stamp)
    }

    fn rekey(&self, page: Page, stamp: u64, epoch: u64, entropy: &[u8; 32]) {
        // Read after the entropy: a fork in between sets them apart.
        let (time, pid) = (clock(libc::CLOCK_MONOTONIC), process());
        let mut old = [0; 32];
        page.copy_key(&mut old);
        step();
        let mut pool = pool();
        let numbers = [stamp, epoch, time, pid].map(u64::to_le_bytes);
        let mut key = extract(&old, &[&LABEL, entropy, &pool, numbers.as_flattened()]);
        old.as_mut_slice().zeroize();
        pool.as_mut_slice().zeroize();
        step();
        page.set_key(&key);
        key.as_mut_slice().zeroize();
    }

    /// Fast key erasure. Fails under the zero key, which is none (R2).
    fn refill(&self, page: Page) -> bool {
        let mut key = [0; 32];
        page.copy_key(&mut key);
        step();
        let seeded = key.iter().fold(0, |all, byte| all | byte) != 0;
        if seeded {
            let time = now();
            let len = 64 * next_refill(page, time) - 32;
            let mut block = [0; 64];
            let state = State::with_nonce_96(&key, &[0; 12], 0, 10);
            page.put_rest(len, |out| Core::new().run(&state, 0, Some(&mut block), Keystream(out)));
            step();
            let (next, first) = block.split_at(32);
            page.put_first(first.first_chunk().expect("32 of 64 bytes"));
            page.set_key(next.first_chunk().expect("the other 32"));
            block.as_mut_slice().zeroize();
            step();
            page.set_position(0);
            step();
            page.set_end(len as u32);
            page.set_refilled_at(time);
            page.set_bytes_since(page.bytes_since().saturating_add(len as u64));
            self.refills.set(self.refills.get() + 1);
        }
        key.as_mut_slice().zeroize();
        seeded
    }

    /// The page, which is set up on a thread's first call, and again after a restore.
    fn page(&self) -> Option<Page> {
        let restores = RESTORES.load(Ordering::Acquire);
        if let Some(slot) = self.slot.get() {
            if self.restores.get() == restores {
                return Some(slot.page);
            }
            self.slot.set(None);
            slot.release();
        }
        if self.closed.get() {
            return None;
        }
        let slot = Slot::take();
        self.restores.set(restores);
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
        let slot = self.slot.take();
        // A signal handler that comes now finds no page.
        compiler_fence(Ordering::SeqCst);
        if let Some(slot) = slot {
            slot.release();
        }
    }

    /// Fills `dst` under a key of its own, which is drawn from the page. The page is not in use
    /// meanwhile, so a signal handler may use it.
    fn fill_bulk(&self, dst: &mut [u8], aged: bool) -> bool {
        let filled = (0..TRIES).any(|_| self.try_fill_bulk(dst, aged));
        if !filled {
            dst.zeroize();
        }
        filled
    }

    fn try_fill_bulk(&self, dst: &mut [u8], aged: bool) -> bool {
        // All parts under one stamp: what came before a fork is the parent's too.
        let mut same = None;
        for part in dst.chunks_mut(BULK_BYTES) {
            let mut key = [0; 32];
            let Some((page, stamp)) = self.take(&mut key, aged) else { return false };
            let mut unchanged = true;
            direct::expand(&mut key, part, || {
                step();
                unchanged = *same.get_or_insert(stamp) == stamp && page.stamp() == stamp;
                unchanged
            });
            if !unchanged {
                return false;
            }
        }
        true
    }

    fn reseed(&self) -> Result<(), Error> {
        if self.busy.load(Ordering::Relaxed) {
            self.want_reseed.store(true, Ordering::Relaxed);
            return Ok(());
        }
        for _ in 0..TRIES {
            let seeded = self.on_page(|page| {
                let stamp = self.seed(page);
                if stamp.is_none() {
                    page.wipe();
                }
                stamp.is_some()
            });
            match (seeded, self.error.get()) {
                (None, _) => return draw(&mut SystemEntropy).map(|mut bytes| bytes.zeroize()),
                (_, Some(error)) => return Err(error),
                (Some(true), None) => return Ok(()),
                (Some(false), None) => {}
            }
        }
        // The page was lost each time, so the next call will seed.
        Ok(())
    }
}

/// Draws new entropy for this thread; in a signal handler that interrupts a call, the next does.
pub(super) fn reseed() -> Result<(), Error> {
    LOCAL.with(Local::reseed)
}

/// Mixes bytes into the pool, and has this thread's next call draw a seed.
pub(super) fn add_entropy(bytes: &[u8]) {
    add_to_pool(bytes);
    LOCAL.with(|local| local.want_reseed.store(true, Ordering::Relaxed));
}

/// Has every thread's next call draw new entropy.
pub(super) fn reseed_all() {
    EPOCH.0.fetch_add(1, Ordering::Release);
}

/// Voids every page there is.
pub(super) fn on_restore() {
    fork::renew();
    page::start_anew();
    RESTORES.fetch_add(1, Ordering::Release);
    reseed_all();
}

pub(super) fn health() -> Health {
    LOCAL.with(|local| Health {
        reseeds: local.reseeds.get(),
        refills: local.refills.get(),
        error: local.error.get(),
    })
}

fn is_old(page: Page) -> bool {
    now().wrapping_sub(page.seeded_at()) >= RESEED_NS
}

/// The blocks of the next refill: more than of the last, unless that one was enough for long.
fn next_refill(page: Page, time: u64) -> usize {
    let [first, .., most] = REFILLS;
    if time.wrapping_sub(page.refilled_at()) > SHORT_LIVED_NS {
        return first;
    }
    let last = page.end() as usize / 64 + 1;
    REFILLS.into_iter().find(|blocks| *blocks > last).unwrap_or(most)
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

fn process() -> u64 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::getpid() as u64 }
}

/// The coarse clock: 4 ms at worst, and no more than two loads from the vDSO.
fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC_COARSE)
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room for a time.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
#[path = "faults.rs"]
mod faults;

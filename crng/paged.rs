//! A generator whose state lies in a page: what a thread and an owned generator do alike.
//!
//! The steps and their order are those of [`crate::crng`]'s design notes; the rules R1 to R7 are
//! named where they hold.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use zeroize::Zeroize;

use super::direct::{self, step};
use super::page::{MOST_BLOCKS, Page, SHORT, Slot, date, now};
use super::seed::{add_hardware_to_pool, draw, extract, is_a_key, pool};
use super::{EntropySource, Error, Health};
use crate::chacha::data::Keystream;
use crate::chacha::{Core, State};

/// From this length on, output is made under a key of its own: where that is the faster way (Zen 5: at
/// 1600 bytes 774 cycles against 664, at 2048 757 against 847).
pub(super) const BULK: usize = 1792;

/// The most that one draw from the page leads to.
const BULK_BYTES: usize = 1 << 20;

/// How often a call starts again because the page was lost in the middle of it.
pub(super) const TRIES: usize = 3;

/// The blocks of a refill: the first is for a session key, the last for steady demand and as much
/// as a page holds. All but the last are whole passes of every kernel.
pub(super) const REFILLS: [usize; 3] = [8, 32, MOST_BLOCKS];

/// A buffer that lived longer than this was too long.
pub(super) const SHORT_LIVED_NS: u64 = 1_000_000_000;

/// When a seed is too old, in output and in time: random.c's limits.
pub(super) const RESEED_BYTES: u64 = 1 << 20;
pub(super) const RESEED_NS: u64 = 60_000_000_000;

/// How long keys wait after a reseed that failed before they ask again.
pub(super) const RETRY_NS: u64 = 1_000_000_000;

/// A number that has its cache lines to itself: all threads read it on each call.
#[repr(align(128))]
pub(super) struct Alone(pub(super) AtomicU64);

/// Every seed of another epoch is void. 0 stands for no seed.
pub(super) static EPOCH: Alone = Alone(AtomicU64::new(1));

/// The last stamp given out.
static LAST_STAMP: AtomicU64 = AtomicU64::new(0);

/// Has every generator's next call draw new entropy.
#[cfg(feature = "getrandom")]
pub(super) fn reseed_all() {
    EPOCH.0.fetch_add(1, Ordering::Release);
}

/// Why a page gave nothing.
pub(super) enum Failure {
    /// There is none, or it is in use.
    #[cfg(feature = "getrandom")]
    NoPage,
    /// It was lost meanwhile, to a fork or for want of memory.
    Lost,
    /// Entropy was needed, and there was none.
    Source(Error),
}

/// The hot path: what `take` takes of a page, if its seed is good. For a key, the age of the seed is
/// looked at on each call.
#[inline(always)]
pub(super) fn take_ready<T>(page: Page, aged: bool, take: impl FnOnce(Page) -> T) -> Option<T> {
    let epoch = page.epoch();
    // Of a page that was lost, the epoch is 0.
    if epoch != EPOCH.0.load(Ordering::Acquire) || aged && is_old(page) {
        return None;
    }
    step();
    let taken = take(page);
    step();
    // R3: nothing is handed out before this.
    (page.epoch() == epoch).then_some(taken)
}

/// Fills `dst` by `take`, which hands out bytes of a page, and tells which and under what stamp.
pub(super) fn fill(
    dst: &mut [u8],
    mut take: impl FnMut(&mut [u8]) -> Result<(Page, u64), Failure>,
) -> Result<(), Failure> {
    try_again(|| if dst.len() < BULK { take(dst).map(|_| ()) } else { fill_bulk(dst, &mut take) })
}

/// Runs `f` until the page is not lost meanwhile.
pub(super) fn try_again<T>(mut f: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..TRIES {
        let result = f();
        if !matches!(result, Err(Failure::Lost)) {
            return result;
        }
    }
    f()
}

/// Fills `dst` under a key of its own, which is taken from the page. The page is not in use
/// meanwhile, so a signal handler may use it.
fn fill_bulk(
    dst: &mut [u8],
    mut take: impl FnMut(&mut [u8]) -> Result<(Page, u64), Failure>,
) -> Result<(), Failure> {
    // All parts under one stamp: what came before a fork is the parent's too.
    let mut same = None;
    for part in dst.chunks_mut(BULK_BYTES) {
        let mut key = [0; 32];
        let (page, stamp) = take(&mut key)?;
        let mut unchanged = true;
        direct::expand(&mut key, part, || {
            step();
            unchanged = *same.get_or_insert(stamp) == stamp && page.stamp() == stamp;
            unchanged
        });
        if !unchanged {
            return Err(Failure::Lost);
        }
    }
    Ok(())
}

/// A page at work: the whole way, with seeds and refills.
pub(super) struct Generator<'a, E> {
    pub(super) page: Page,
    /// What is left of the page's buffer.
    pub(super) left: &'a mut usize,
    pub(super) source: &'a mut E,
    /// What heads the input of the extractor.
    pub(super) label: &'a [u8],
    pub(super) health: &'a mut Health,
    /// Whether it is a thread's own.
    pub(super) of_thread: bool,
}

impl<E: EntropySource> Generator<'_, E> {
    /// Fills `dst`, after a seed if one is wanted. The page, and the stamp that `dst` was filled
    /// under; where there is none, both are wiped.
    pub(super) fn take(
        &mut self,
        dst: &mut [u8],
        aged: bool,
        wanted: bool,
    ) -> Result<(Page, u64), Failure> {
        let stamp = self.try_take(dst, aged, wanted);
        if stamp.is_err() {
            self.wipe();
            dst.zeroize();
        }
        Ok((self.page, stamp?))
    }

    fn wipe(&mut self) {
        *self.left = 0;
        self.page.wipe();
    }

    fn try_take(&mut self, mut dst: &mut [u8], aged: bool, wanted: bool) -> Result<u64, Failure> {
        let page = self.page;
        let mut stamp = page.stamp();
        step();
        let void = stamp == 0 || page.epoch() != EPOCH.0.load(Ordering::Acquire);
        if void || wanted || aged && is_old(page) {
            stamp = self.seed()?;
        }
        loop {
            step();
            let (head, rest) = dst.split_at_mut(dst.len().min(*self.left));
            page.take(*self.left, head);
            step();
            *self.left -= head.len();
            if rest.is_empty() {
                break;
            }
            dst = rest;
            if is_old(page) || page.bytes_since() >= RESEED_BYTES {
                // Under another stamp the bytes taken so far would be a parent's too.
                if self.seed()? != stamp {
                    return Err(Failure::Lost);
                }
            } else if !self.refill() {
                return Err(Failure::Lost);
            }
        }
        step();
        // R3.
        if page.stamp() == stamp { Ok(stamp) } else { Err(Failure::Lost) }
    }

    /// Makes a new key of new entropy, the old key and the pool. The stamp that it was made under.
    fn seed(&mut self) -> Result<u64, Failure> {
        let page = self.page;
        let epoch = EPOCH.0.load(Ordering::Acquire);
        page.set_epoch(0);
        *self.left = 0;
        step();
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
        let panicking = WipedOnDrop(page);
        let mut drawn = draw(self.source);
        core::mem::forget(panicking);
        match &mut drawn {
            Ok(entropy) => {
                step();
                let first = self.of_thread && is_the_first_seed();
                if !first {
                    add_hardware_to_pool();
                }
                self.rekey(stamp, epoch, entropy);
                entropy.as_mut_slice().zeroize();
                page.set_bytes_since(if first { RESEED_BYTES } else { 0 });
                page.set_seeded_at(now());
                self.health.reseeds += 1;
            }
            // Output goes on under the old key, if there is one: `refill` looks.
            Err(_) => page.set_seeded_at(now().wrapping_sub(RESEED_NS - RETRY_NS)),
        }
        self.health.error = drawn.err();
        step();
        if !self.refill() {
            return Err(self.health.error.map_or(Failure::Lost, Failure::Source));
        }
        step();
        page.set_epoch(epoch);
        step();
        // The stamp from before, not one read again: a fork in between has made it zero.
        if page.stamp() == stamp { Ok(stamp) } else { Err(Failure::Lost) }
    }

    fn rekey(&self, stamp: u64, epoch: u64, entropy: &[u8; 32]) {
        // Read after the entropy: a fork in between sets them apart.
        let [time, process] = here_and_now();
        let mut old = [0; 32];
        self.page.copy_key(&mut old);
        step();
        let mut pool = pool();
        let numbers = [stamp, epoch, time, process].map(u64::to_le_bytes);
        let mut key = extract(&old, &[self.label, entropy, &pool, numbers.as_flattened()]);
        old.as_mut_slice().zeroize();
        pool.as_mut_slice().zeroize();
        step();
        self.page.set_key(&key);
        key.as_mut_slice().zeroize();
    }

    /// Fast key erasure. Fails under the zero key, which is none (R2).
    fn refill(&mut self) -> bool {
        let page = self.page;
        let mut key = [0; 32];
        page.copy_key(&mut key);
        step();
        let seeded = is_a_key(&key);
        if seeded {
            let time = now();
            let blocks = next_refill(page, time);
            let state = State::with_nonce_96(&key, &[0; 12], 0, 10);
            let core = if blocks == REFILLS[0] { Core::unasked() } else { Core::new() };
            page.put_stream(blocks, |out| core.run(&state, 0, None, Keystream(out)));
            direct::wipe_stack();
            step();
            page.move_key(blocks);
            step();
            page.set_blocks(blocks as u64);
            step();
            page.set_refilled_at(time);
            let len = 64 * blocks - key.len();
            page.set_bytes_since(page.bytes_since().saturating_add(len as u64));
            step();
            *self.left = len;
            self.health.refills += 1;
        }
        key.as_mut_slice().zeroize();
        seeded
    }

    /// Draws new entropy now. An error says that there was none, even where output can go on.
    pub(super) fn reseed(&mut self) -> Result<(), Failure> {
        let seeded = self.seed();
        if seeded.is_err() {
            self.wipe();
        }
        match self.health.error {
            Some(error) => Err(Failure::Source(error)),
            None => seeded.map(|_| ()),
        }
    }
}

/// Whether the seed is the first of the process's threads: it is made without the CPU's own numbers, and
/// the next refill is a seed with them, unless another thread has just begun to ask for them, which nothing
/// relies on. To ask which CPU this is takes ten CPUID instructions, and RDSEED as long as one of them
/// (Zen 5, in a virtual machine: 40 and 3 µs), more than all the rest of a first call. Of an owned
/// generator no seed is: its source is drawn once. In the tests each seed is like the others.
fn is_the_first_seed() -> bool {
    static SEEDED: AtomicBool = AtomicBool::new(false);
    cfg!(all(target_arch = "x86_64", not(test))) && !SEEDED.swap(true, Ordering::Relaxed)
}

/// A page that is wiped if the source of its entropy panics.
struct WipedOnDrop(Page);

impl Drop for WipedOnDrop {
    fn drop(&mut self) {
        self.0.wipe();
    }
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
    let last = page.blocks() as usize;
    REFILLS.into_iter().find(|blocks| *blocks > last).unwrap_or(most)
}

/// The time and the process, which go into each key. The tests do without: there, the stamp alone
/// must set a child apart.
fn here_and_now() -> [u64; 2] {
    if cfg!(test) {
        return [0; 2];
    }
    [date(), u64::from(std::process::id())]
}

/// What an owned generator keeps between two calls.
pub(super) struct Memory {
    slot: Option<Slot>,
    left: usize,
    pub(super) health: Health,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self { slot: None, left: 0, health: Health::NEW }
    }

    /// Fills `dst`. `None` where nothing may be kept.
    pub(super) fn fill<E: EntropySource>(
        &mut self,
        source: &mut E,
        label: &[u8],
        dst: &mut [u8],
    ) -> Option<Result<(), Error>> {
        let page = self.page()?;
        let aged = dst.len() >= 16;
        if dst.len() <= self.left && dst.len() < BULK {
            let left = self.left;
            self.left -= dst.len();
            let short = SHORT.contains(&dst.len());
            let take =
                |page: Page| if short { page.take_short(left, dst) } else { page.take(left, dst) };
            if take_ready(page, aged, take).is_some() {
                return Some(Ok(()));
            }
        }
        let mut generator = self.generator(page, source, label);
        outcome(fill(dst, |dst| generator.take(dst, aged, false)))
    }

    fn generator<'a, E>(
        &'a mut self,
        page: Page,
        source: &'a mut E,
        label: &'a [u8],
    ) -> Generator<'a, E> {
        let (left, health) = (&mut self.left, &mut self.health);
        Generator { page, left, source, label, health, of_thread: false }
    }

    /// Draws new entropy now. `None` where there is nothing to renew.
    pub(super) fn reseed<E: EntropySource>(
        &mut self,
        source: &mut E,
        label: &[u8],
    ) -> Option<Result<(), Error>> {
        let page = self.page()?;
        let mut generator = self.generator(page, source, label);
        outcome(try_again(|| generator.reseed()))
    }

    /// The page, which is taken at the first call, and again after a restore.
    pub(super) fn page(&mut self) -> Option<Page> {
        if let Some(slot) = self.slot.take_if(|slot| !slot.is_current()) {
            slot.release();
        }
        if self.slot.is_none() {
            self.left = 0;
            self.slot = Slot::take();
        }
        Some(self.slot?.page)
    }
}

fn outcome(result: Result<(), Failure>) -> Option<Result<(), Error>> {
    match result {
        Ok(()) => Some(Ok(())),
        Err(Failure::Source(error)) => Some(Err(error)),
        Err(_) => None,
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.release();
        }
    }
}

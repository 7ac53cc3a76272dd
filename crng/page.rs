//! Pages that a fork wipes, and what lies in one.
//!
//! A page may turn to zeros between any two instructions. So nothing here is ever borrowed: a page
//! is a pointer, its fields are read and written whole and volatile, and what was read is kept by
//! the reader. The one exception is the buffer while a kernel writes it, which never reads it.
//!
//! The buffer ends where the page does, whatever its length, so what is left of it is one number. The
//! owner keeps that beside the page, where it can't be lost.
//!
//! Pages come out of slabs. Which are in use is noted in ordinary memory, which a fork copies: in a
//! child, the pages of threads that it does not have stay in use. Slabs are never unmapped.

use core::ops::RangeInclusive;
use core::ptr::{self, NonNull};
use core::slice;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering, compiler_fence, fence,
};

use zeroize::Zeroize;

use super::Mode;

/// The bytes of a slot. No machine has smaller pages, so no slot lies in two.
const LEN: usize = 4096;

/// The blocks of the longest refill, the next key and the buffer: all that a page has room for. Passes of
/// 32 blocks (AVX-512, Zen 5) are two, as for 56 blocks, and a byte costs 4 % less; those of 8 (AVX2, Zen 3)
/// are not all whole, and it costs up to 1.5 % more.
pub(super) const MOST_BLOCKS: usize = 62;

/// The longest buffer.
pub(super) const LONGEST: usize = 64 * MOST_BLOCKS - 32;

/// What lies in a page.
#[repr(C, align(64))]
struct Layout {
    /// All zero: unseeded.
    key: [u8; 32],
    /// Of the last seed; 0: unseeded.
    epoch: u64,
    /// 0: new, or lost to a fork or for want of memory.
    stamp: u64,
    /// Output since the last seed.
    bytes_since: u64,
    /// Both by [`now`].
    seeded_at: u64,
    refilled_at: u64,
    /// The blocks of the last refill.
    blocks: u64,
    unused: [u8; 48],
    /// A refill has a whole number of blocks and ends with the page, so each block is aligned.
    stream: [u8; 64 * MOST_BLOCKS],
}

const _: () = assert!(size_of::<Layout>() == LEN);

/// A page in use. Whoever took it is the only one to use it, from one thread at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Page(NonNull<Layout>);

/// The fields, read and written in one piece each.
macro_rules! fields {
    ($($get:ident $set:ident $field:ident: $type:ty;)*) => {$(
        #[inline(always)]
        pub(super) fn $get(self) -> $type {
            // SAFETY: the pointer is that of a slot of a slab, which is never unmapped.
            unsafe { ptr::read_volatile(&raw const (*self.0.as_ptr()).$field) }
        }

        #[inline(always)]
        pub(super) fn $set(self, value: $type) {
            // SAFETY: as above, and the page is the caller's alone.
            unsafe { ptr::write_volatile(&raw mut (*self.0.as_ptr()).$field, value) }
        }
    )*};
}

impl Page {
    fields! {
        epoch set_epoch epoch: u64;
        stamp set_stamp stamp: u64;
        bytes_since set_bytes_since bytes_since: u64;
        seeded_at set_seeded_at seeded_at: u64;
        refilled_at set_refilled_at refilled_at: u64;
        blocks set_blocks blocks: u64;
    }

    #[cfg(test)]
    pub(super) fn as_ptr(self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// Copies the key out, over `key`.
    pub(super) fn copy_key(self, key: &mut [u8; 32]) {
        // SAFETY: the pointer is that of a slot of a slab, which is never unmapped.
        let place = unsafe { &raw const (*self.0.as_ptr()).key };
        // SAFETY: the place is as long and mapped, and `key` lies elsewhere, being borrowed.
        unsafe { ptr::copy_nonoverlapping(place, key, 1) };
        settle();
    }

    pub(super) fn set_key(self, key: &[u8; 32]) {
        // SAFETY: the pointer is that of a slot of a slab, which is never unmapped.
        let place = unsafe { &raw mut (*self.0.as_ptr()).key };
        // SAFETY: as above, and the page is the caller's alone.
        unsafe { ptr::copy_nonoverlapping(key, place, 1) };
        settle();
    }

    /// Copies the next bytes out, of `left` that there are, and zeroes them.
    ///
    /// # Panics
    ///
    /// If there are not as many, or more than a page holds.
    #[inline(always)]
    pub(super) fn take(self, left: usize, dst: &mut [u8]) {
        let place = self.next(left, dst.len());
        // SAFETY: as many bytes lie there, and `dst` lies elsewhere, being borrowed.
        unsafe { ptr::copy_nonoverlapping(place, dst.as_mut_ptr(), dst.len()) };
        // SAFETY: the same bytes; the page is the caller's alone.
        unsafe { ptr::write_bytes(place, 0, dst.len()) };
        settle();
    }

    /// The same for a length in [`SHORT`] that the compiler does not know: without calls.
    #[inline(always)]
    pub(super) fn take_short(self, left: usize, dst: &mut [u8]) {
        let place = self.next(left, dst.len());
        match dst.len() {
            ..8 => take_ends::<4>(place, dst),
            8..16 => take_ends::<8>(place, dst),
            16..32 => take_ends::<16>(place, dst),
            _ => take_ends::<32>(place, dst),
        }
        settle();
    }

    /// Where the next bytes lie, of `left` that there are.
    #[inline(always)]
    fn next(self, left: usize, len: usize) -> *mut u8 {
        assert!(len <= left && left <= LONGEST);
        // SAFETY: the line above: it lies inside the stream.
        unsafe { self.stream().add(64 * MOST_BLOCKS - left) }
    }

    /// Has a kernel write so many blocks of keystream, up to the end of the page.
    ///
    /// # Panics
    ///
    /// If a page does not hold as many.
    pub(super) fn put_stream(self, blocks: usize, kernel: impl FnOnce(&mut [u8])) {
        let start = self.stream_of(blocks);
        // SAFETY: as many bytes lie there, and the page is the caller's alone. They may turn to
        // zeros meanwhile, but a kernel that makes keystream writes and does not read.
        kernel(unsafe { slice::from_raw_parts_mut(start, 64 * blocks) });
        settle();
    }

    /// Makes the first 32 bytes of so many blocks the key. The rest is the buffer.
    ///
    /// # Panics
    ///
    /// If a page does not hold as many.
    pub(super) fn move_key(self, blocks: usize) {
        let start = self.stream_of(blocks);
        let mut key = [0; 32];
        // SAFETY: the first half of the first block, and `key` lies elsewhere.
        unsafe { ptr::copy_nonoverlapping(start, key.as_mut_ptr(), key.len()) };
        // SAFETY: the same bytes; the page is the caller's alone.
        unsafe { ptr::write_bytes(start, 0, key.len()) };
        self.set_key(&key);
        key.as_mut_slice().zeroize();
    }

    /// Wipes what the buffer holds.
    pub(super) fn empty(self) {
        // SAFETY: the whole stream, which is the caller's alone.
        unsafe { ptr::write_bytes(self.stream(), 0, 64 * MOST_BLOCKS) };
        settle();
    }

    /// Wipes everything.
    pub(super) fn wipe(self) {
        // SAFETY: one slot, which is the caller's alone; zeros are what it held at first.
        unsafe { ptr::write_bytes(self.0.as_ptr(), 0, 1) };
        settle();
    }

    /// Where so many blocks begin.
    fn stream_of(self, blocks: usize) -> *mut u8 {
        assert!((1..=MOST_BLOCKS).contains(&blocks));
        // SAFETY: the line above: it lies inside the stream.
        unsafe { self.stream().add(64 * (MOST_BLOCKS - blocks)) }
    }

    #[inline(always)]
    fn stream(self) -> *mut u8 {
        // SAFETY: the pointer is that of a slot of a slab; nothing is read.
        unsafe { (&raw mut (*self.0.as_ptr()).stream).cast() }
    }
}

// SAFETY: memory that belongs to no thread; whoever has the page is the only one to use it.
unsafe impl Send for Page {}

// SAFETY: as above; an owner that is borrowed by many threads at once uses no page.
unsafe impl Sync for Page {}

/// The lengths that [`Page::take_short`] can copy.
pub(super) const SHORT: RangeInclusive<usize> = 4..=64;

/// Copies `dst.len()` bytes out of a page and zeroes them, by the first `N` and the last `N`, which
/// may overlap.
#[inline(always)]
fn take_ends<const N: usize>(place: *mut u8, dst: &mut [u8]) {
    let rest = dst.len() - N;
    let place_of_last = place.wrapping_add(rest);
    // SAFETY: `Page::next` found as many bytes there as `dst` has, which are `N` at least.
    unsafe { ptr::copy_nonoverlapping(place, dst[..N].as_mut_ptr(), N) };
    // SAFETY: as above.
    unsafe { ptr::copy_nonoverlapping(place_of_last, dst[rest..].as_mut_ptr(), N) };
    // SAFETY: the same bytes; the page is the caller's alone.
    unsafe { ptr::write_bytes(place, 0, N) };
    // SAFETY: as above.
    unsafe { ptr::write_bytes(place_of_last, 0, N) };
}

/// The coarse clock: 4 ms at worst, and no more than two loads from the vDSO.
pub(super) fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// The time since 1970.
pub(super) fn date() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// A clock, in nanoseconds.
#[inline(always)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room for a time.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Everything before is done before anything after: the copy before the stamp is looked at again,
/// and the zeros before they could be taken for superfluous. No instruction on x86.
#[inline(always)]
fn settle() {
    fence(Ordering::Acquire);
    compiler_fence(Ordering::SeqCst);
}

/// A page, and how to give it back.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) page: Page,
    used: &'static AtomicBool,
    /// [`RESTORES`] when the page was taken.
    restores: u64,
}

/// How often the process was restored: pages from before are void.
static RESTORES: AtomicU64 = AtomicU64::new(0);

impl Slot {
    /// Takes a page of zeros. `None` where there is no memory that a fork wipes.
    pub(super) fn take() -> Option<Self> {
        let restores = RESTORES.load(Ordering::Acquire);
        let mut slab = first_slab(restores)?;
        loop {
            let pages = slab.pages()?;
            for (i, used) in slab.used.iter().enumerate() {
                // Looking first spares the lines of pages in use a write.
                if !used.load(Ordering::Relaxed) && !used.swap(true, Ordering::Acquire) {
                    // SAFETY: a slab has as many pages as flags.
                    let page = Page(unsafe { pages.add(i) });
                    // A new page that is read before it is written takes two faults instead of one.
                    page.set_epoch(0);
                    return Some(Self { page, used, restores });
                }
            }
            slab = slab_at(&slab.next)?;
        }
    }

    /// Whether the process is still the one that took the page.
    pub(super) fn is_current(self) -> bool {
        self.restores == RESTORES.load(Ordering::Acquire)
    }

    /// The same, as if the process had been restored since.
    #[cfg(test)]
    pub(super) fn before_a_restore(self) -> Self {
        Self { restores: u64::MAX, ..self }
    }

    /// Wipes the page and gives it back: whoever holds a copy must not use it again.
    pub(super) fn release(self) {
        self.page.wipe();
        self.used.store(false, Ordering::Release);
    }
}

/// The pages of a slab.
const PAGES: usize = 64;

/// What is known of a slab, in ordinary memory. All zero: a new one, whose pages are yet to be mapped.
struct Slab {
    next: AtomicPtr<Self>,
    pages: AtomicPtr<Layout>,
    used: [AtomicBool; PAGES],
}

/// The slab that a process starts with, whose place here saves mapping one: 3 µs (Zen 5, in a virtual
/// machine).
static SLAB: Slab = Slab {
    next: AtomicPtr::new(ptr::null_mut()),
    pages: AtomicPtr::new(ptr::null_mut()),
    used: [const { AtomicBool::new(false) }; PAGES],
};

/// The first slab since the last restore.
static FIRST: AtomicPtr<Slab> = AtomicPtr::new(ptr::null_mut());

/// Leaves all slabs there are to those who use them: who takes a page after this gets a new one.
#[cfg(feature = "getrandom")]
pub(super) fn start_anew() {
    // First, or it would take back what a thread that maps a new slab at this moment has found out.
    MODE.store(0, Ordering::Relaxed);
    FIRST.store(ptr::null_mut(), Ordering::Release);
    RESTORES.fetch_add(1, Ordering::Release);
}

/// The first slab after so many restores.
fn first_slab(restores: u64) -> Option<&'static Slab> {
    if restores == 0 { Some(&SLAB) } else { slab_at(&FIRST) }
}

/// The slab that is linked, or a new one.
fn slab_at(link: &AtomicPtr<Slab>) -> Option<&'static Slab> {
    let slab = NonNull::new(link.load(Ordering::Acquire)).or_else(|| append(link))?;
    // SAFETY: what is linked is what `append` has mapped, whole and never unmapped.
    Some(unsafe { slab.as_ref() })
}

/// Maps a slab and links it. Two threads may both be here: the first to link wins.
#[cold]
fn append(link: &AtomicPtr<Slab>) -> Option<NonNull<Slab>> {
    let slab = map(size_of::<Slab>(), libc::MAP_PRIVATE)?.cast();
    let linked = set_once(link, slab);
    if linked != slab {
        unmap(slab.cast(), size_of::<Slab>());
    }
    Some(linked)
}

impl Slab {
    /// The pages, which are mapped at the first call, as `append` does.
    fn pages(&self) -> Option<NonNull<Layout>> {
        NonNull::new(self.pages.load(Ordering::Acquire)).or_else(|| self.map_pages())
    }

    #[cold]
    fn map_pages(&self) -> Option<NonNull<Layout>> {
        let pages = map_pages()?;
        let first = set_once(&self.pages, pages);
        if first != pages {
            unmap(pages.cast(), PAGES * LEN);
        }
        Some(first)
    }
}

/// Sets a pointer that is null, and tells what it is then: another's, if that came first.
fn set_once<T>(place: &AtomicPtr<T>, value: NonNull<T>) -> NonNull<T> {
    let (null, new) = (ptr::null_mut(), value.as_ptr());
    match place.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => value,
        Err(earlier) => NonNull::new(earlier).unwrap_or(value),
    }
}

/// 0 before the first slab, or where there is no memory for one; then the number of a [`Mode`] in [`MODES`], from 1.
static MODE: AtomicU8 = AtomicU8::new(0);

/// Best first.
const MODES: [Mode; 3] = [Mode::BufferedDroppable, Mode::BufferedWipe, Mode::Direct];

/// The mode that this machine allows.
#[cfg(feature = "getrandom")]
pub(super) fn mode() -> Mode {
    if MODE.load(Ordering::Relaxed) == 0 {
        first_slab(RESTORES.load(Ordering::Acquire)).and_then(Slab::pages);
    }
    let number = usize::from(MODE.load(Ordering::Relaxed));
    number.checked_sub(1).map_or(Mode::Direct, |place| MODES[place])
}

/// The pages of a slab, in the best memory there is.
fn map_pages() -> Option<NonNull<Layout>> {
    let first = MODE.load(Ordering::Relaxed).saturating_sub(1);
    for (number, mode) in (1..).zip(MODES).skip(first.into()) {
        let pages = match mode {
            Mode::BufferedDroppable => map_droppable(),
            Mode::BufferedWipe => map_wiped(),
            _ => None,
        };
        if pages.is_some() || mode == Mode::Direct {
            MODE.store(number, Ordering::Relaxed);
            return pages.map(NonNull::cast);
        }
    }
    None
}

/// Pages that a fork wipes and that stay out of swap and core dumps, at the price that the kernel
/// may drop them when memory is short (`MAP_DROPPABLE`, Linux 6.11 and later).
fn map_droppable() -> Option<NonNull<u8>> {
    /// The value is Linux's, on every architecture; not every `libc` has it.
    const MAP_DROPPABLE: libc::c_int = 0x08;
    let pages = map(PAGES * LEN, MAP_DROPPABLE)?;
    // Emulators drop flags that they don't know. Droppable memory can't be kept over a fork.
    let honest = !advise(pages, -1) && !advise(pages, libc::MADV_KEEPONFORK);
    keep_if(honest, pages)
}

/// Pages that a fork wipes and that stay out of core dumps (`MADV_WIPEONFORK`, Linux 4.14 and
/// later).
fn map_wiped() -> Option<NonNull<u8>> {
    let pages = map(PAGES * LEN, libc::MAP_PRIVATE)?;
    // Some emulators accept whatever advice they are given: one that does not exist must fail.
    let honest = !advise(pages, -1);
    let wiped = advise(pages, libc::MADV_WIPEONFORK) && advise(pages, libc::MADV_DONTDUMP);
    keep_if(honest && wiped, pages)
}

fn keep_if(good: bool, pages: NonNull<u8>) -> Option<NonNull<u8>> {
    if !good {
        unmap(pages, PAGES * LEN);
        return None;
    }
    Some(pages)
}

fn map(len: usize, kind: libc::c_int) -> Option<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, anywhere, touches no memory that exists.
    let place =
        unsafe { libc::mmap(ptr::null_mut(), len, access, kind | libc::MAP_ANONYMOUS, -1, 0) };
    if place == libc::MAP_FAILED { None } else { NonNull::new(place.cast()) }
}

/// Whether the kernel takes this advice for the pages of a new slab.
fn advise(pages: NonNull<u8>, advice: libc::c_int) -> bool {
    // SAFETY: the pages were just mapped and are nobody else's; no advice given here unmaps them.
    unsafe { libc::madvise(pages.as_ptr().cast(), PAGES * LEN, advice) == 0 }
}

/// Unmaps what this thread has mapped and shown to nobody.
fn unmap(place: NonNull<u8>, len: usize) {
    // SAFETY: the callers pass what `map` gave them, unlinked, with its length.
    unsafe { libc::munmap(place.as_ptr().cast(), len) };
}

#[cfg(test)]
mod tests {
    use core::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn nothing_outside_a_page_is_reached() {
        let slot = Slot::take().expect("a kernel with memory that a fork wipes");
        let page = slot.page;
        let refuses = |f: &dyn Fn()| catch_unwind(AssertUnwindSafe(f)).is_err();
        for left in [0, 15, LONGEST + 1, usize::MAX] {
            assert!(refuses(&|| page.take(left, &mut [0; 16])), "{left} bytes left");
        }
        for blocks in [0, MOST_BLOCKS + 1] {
            assert!(refuses(&|| page.put_stream(blocks, |_| ())), "{blocks} blocks");
            assert!(refuses(&|| page.move_key(blocks)), "{blocks} blocks");
        }
        page.put_stream(MOST_BLOCKS, |out| out.fill(7));
        let mut all = [0; LONGEST];
        page.take(LONGEST, &mut all);
        assert_eq!(all, [7; LONGEST]);
        slot.release();
    }

    /// Of the coarse clock two readings are up to a tick apart, 10 ms at worst.
    #[test]
    fn the_clock_counts_nanoseconds() {
        let before = now();
        std::thread::sleep(core::time::Duration::from_millis(30));
        let passed = now() - before;
        assert!((20_000_000..20_000_000_000).contains(&passed), "{passed}");
    }
}

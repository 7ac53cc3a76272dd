//! Pages, seeds and what is mixed into them.

use std::prelude::rust_2024::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use world::{Kernel, keys, mapped, mapping_of, refuse_after, refuse_keys, run_on};

use super::page::{Page, Slot, mode, start_anew};
use super::paged::{EPOCH, Memory, reseed_all};
use super::seed::{add_hardware_to_pool, add_to_pool, extract, pool};
use super::{EntropySource, Error, Mode, thread};
use crate::models::at_once;

fn take() -> Slot {
    Slot::take().expect("there is memory")
}

/// One mapping: its pages. What is known of the first slab lies in the program.
const ONE_SLAB: usize = 1;

/// Two threads that take pages, use them and give them back don't use one at once, and find it wiped.
pub(crate) fn slots() {
    let turn = || {
        let slot = take();
        assert_eq!(slot.page.stamp(), 0);
        slot.page.set_stamp(7);
        slot.page.set_key(&[7; 32]);
        slot.release();
    };
    at_once(turn, turn);
    assert_eq!(mapped(), ONE_SLAB);
    turn();
    assert_eq!(mapped(), ONE_SLAB);
}

/// Pages in use are different ones, and of one slab.
pub(crate) fn slots_held() {
    slots_held_in(ONE_SLAB);
}

fn slots_held_in(mappings: usize) {
    let (a, b) = at_once(take, take);
    assert!(a.page != b.page);
    assert_eq!(mapped(), mappings);
}

/// After a restore, two threads that take a page agree on the slab.
pub(crate) fn slabs() {
    start_anew();
    slots_held_in(ONE_SLAB + 1);
}

/// Where no memory can be had there are no pages, until a restore.
pub(crate) fn slots_without_memory() {
    refuse_after(0);
    let (a, b) = at_once(Slot::take, Slot::take);
    assert!(a.is_none() && b.is_none());
    assert_eq!((mode(), mapped()), (Mode::Direct, 0));
    start_anew();
    refuse_after(0);
    assert_eq!((mode(), mapped()), (Mode::Direct, 0));
    refuse_after(2);
    take();
}

/// What every kind of kernel is taken for, and that nothing is left of what was tried.
pub(crate) fn kernels() {
    for (kernel, expected) in [
        (Kernel::DROPPABLE, Mode::BufferedDroppable),
        (Kernel { droppable: false, ..Kernel::DROPPABLE }, Mode::BufferedWipe),
        // Emulators that drop flags which they don't know, and take what advice they are given.
        (Kernel { keeps_droppable: true, ..Kernel::DROPPABLE }, Mode::BufferedWipe),
        (Kernel { believes_all: true, ..Kernel::DROPPABLE }, Mode::Direct),
        (Kernel { wipes: false, droppable: false, ..Kernel::DROPPABLE }, Mode::Direct),
        (Kernel { hides: false, droppable: false, ..Kernel::DROPPABLE }, Mode::Direct),
    ] {
        let before = mapped();
        start_anew();
        run_on(kernel);
        assert_eq!(mode(), expected, "{kernel:?}");
        assert_eq!(Slot::take().is_some(), expected != Mode::Direct, "{kernel:?}");
        // What is known of the slab is mapped, and its pages where they are good.
        let pages = usize::from(expected != Mode::Direct);
        assert_eq!(mapped(), before + 1 + pages, "{kernel:?}");
    }
}

/// A page that counts as taken since a restore is of a slab from after it, and the mode is known again.
pub(crate) fn restore() {
    // The slabs from before the first restore are not even linked.
    start_anew();
    let before = take();
    let (slot, ()) = at_once(take, start_anew);
    let slab = |slot: Slot| mapping_of(place(slot.page));
    assert!(!slot.is_current() || slab(slot) != slab(before));
    assert_eq!(mode(), Mode::BufferedDroppable);
}

fn place(page: Page) -> usize {
    let mut at = 0;
    page.put_stream(1, |out| at = out.as_ptr().addr());
    at
}

/// Entropy of which each draw is another.
struct Counted<F>(u64, F);

impl<F: FnMut()> EntropySource for Counted<F> {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        self.0 += 1;
        self.1();
        dst.fill(0);
        dst[..8].copy_from_slice(&self.0.to_le_bytes());
        Ok(())
    }
}

/// Draws, and tells the epoch of the seed.
fn draw(memory: &mut Memory, source: &mut impl EntropySource) -> u64 {
    let filled = memory.fill(source, b"label", &mut [0; 16]);
    assert_eq!(filled, Some(Ok(())));
    memory.page().expect("there is memory").epoch()
}

/// Entropy that was drawn before all seeds were voided is under none that is good.
pub(crate) fn epoch() {
    static DRAWN: AtomicBool = AtomicBool::new(false);
    let (mut seeded, drawn_before) = at_once(
        || {
            let mut memory = Memory::new();
            let mut source = Counted(0, || DRAWN.store(true, Ordering::SeqCst));
            let epoch = draw(&mut memory, &mut source);
            (memory, epoch, source.0)
        },
        || {
            let drawn = DRAWN.load(Ordering::SeqCst);
            reseed_all();
            drawn
        },
    );
    let (memory, epoch, draws) = &mut seeded;
    let now = EPOCH.0.load(Ordering::Relaxed);
    assert!(!drawn_before || *draws > 1 || *epoch != now);
    // The next draw is under the new epoch, and asks for entropy only if the last was not.
    let mut source = Counted(1, || {});
    assert_eq!(draw(memory, &mut source), now);
    assert_eq!(source.0 > 1, *epoch != now);
}

/// Who seeds under a new epoch has all in its pool that was added before the epoch began.
pub(crate) fn pool_and_epoch() {
    let before = pool();
    let ((epoch, seen), ()) = at_once(
        move || {
            let mut seen = [0; 32];
            let mut source = Counted(0, || seen = pool());
            let epoch = draw(&mut Memory::new(), &mut source);
            (epoch, seen)
        },
        || {
            add_to_pool(b"x");
            reseed_all();
        },
    );
    let words = |bytes: [u8; 32]| bytes.as_chunks::<8>().0.to_vec();
    let added = words(seen).iter().zip(words(before)).all(|(seen, before)| *seen != before);
    assert!(epoch == 1 || added);
}

/// What two threads add at once is all there, and does not cancel out where it is the same.
pub(crate) fn pool_of_two() {
    let before = pool();
    at_once(|| add_to_pool(b"x"), || add_to_pool(b"x"));
    assert_eq!(difference(before, pool()), difference(nth(0), nth(1)));
}

/// The CPU's numbers are added once.
pub(crate) fn hardware() {
    at_once(add_hardware_to_pool, add_hardware_to_pool);
    let before = pool();
    add_to_pool(b"x");
    assert_eq!(difference(before, pool()), nth(1));
}

/// What the addition of that number mixes in.
fn nth(number: u64) -> [u8; 32] {
    extract(&[0; 32], &[&number.to_le_bytes(), b"x"])
}

fn difference(a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
    core::array::from_fn(|i| a[i] ^ b[i])
}

/// The first seed of a process's threads is without the CPU's numbers and lasts for one refill; the next has
/// them.
pub(crate) fn first_seed() {
    let before = pool();
    let seeds_after = |len: usize| {
        assert_eq!(thread::fill(&mut [0; 1700][..len]), Ok(()));
        thread::health().reseeds()
    };
    assert_eq!((seeds_after(16), pool()), (1, before));
    assert_eq!((seeds_after(500), difference(before, pool()) != [0; 32]), (2, true));
    assert_eq!(seeds_after(1700), 2);
}

/// No two pages have one stamp, or none, and those of generators that are dropped can be taken again.
pub(crate) fn stamps_of_pages() {
    let stamp = || {
        let mut memory = Memory::new();
        draw(&mut memory, &mut Counted(0, || {}));
        let stamp = memory.page().expect("there is memory").stamp();
        (memory, stamp)
    };
    let ((mut a, stamp_of_a), (mut b, stamp_of_b)) = at_once(stamp, stamp);
    assert!(stamp_of_a != stamp_of_b && stamp_of_a != 0 && stamp_of_b != 0);
    let pages = [&mut a, &mut b].map(|memory| memory.page().expect("there is memory"));
    drop((a, b));
    let again = [take().page, take().page];
    assert!(again.iter().all(|page| pages.contains(page)));
}

/// Threads that draw, end and are followed by another: different bytes, one slab, one key for their ends,
/// and wiped pages. That these can be taken again is no matter of this model: to loom a load of a flag may
/// see the exchange of who came second, even after the store that gave the page back.
pub(crate) fn threads() {
    let first = take().page;
    let (a, b) = at_once(draw_in_a_thread, draw_in_a_thread);
    assert!(are_wiped_after(first));
    let c = draw_in_a_thread();
    assert!(a != b && b != c && c != a);
    assert_eq!((mapped(), keys()), (ONE_SLAB, 1));
}

/// A thread that can't be told of its end keeps no page.
pub(crate) fn threads_without_ends() {
    refuse_keys();
    let first = take().page;
    let (a, b) = at_once(draw_in_a_thread, draw_in_a_thread);
    assert!(a != b && are_wiped_after(first));
}

fn draw_in_a_thread() -> [u8; 16] {
    let mut bytes = [0; 16];
    assert_eq!(thread::fill(&mut bytes), Ok(()));
    bytes
}

/// Whether the two pages after one hold nothing.
fn are_wiped_after(first: Page) -> bool {
    let first = place(first) & !0xfff;
    let words = (first + 0x1000..first + 0x3000).step_by(8);
    // SAFETY: a slab has 64 pages, and nobody else is at work.
    words.into_iter().all(|at| unsafe { *(at as *const u64) } == 0)
}

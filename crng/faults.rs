//! Forks, losses and signal handlers at every step of a thread's generator, and entropy that fails.

use core::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::vec::Vec;

use super::super::page::now;
use super::super::paged::{
    EPOCH, Memory, REFILLS, RESEED_BYTES, RESEED_NS, RETRY_NS, SHORT_LIVED_NS,
};
use super::super::{Crng, EntropySource, Policy, direct, health};
use super::*;

#[path = "erasure.rs"]
mod erasure;

/// What happens at a step.
type Strike = fn();

/// How the operating system's entropy is stood for.
type Fill = fn(&mut [u8]) -> Result<(), Error>;

std::thread_local! {
    /// After how many more steps, and what.
    static STRIKE: Cell<Option<(u32, Strike)>> = const { Cell::new(None) };

    /// What the strike's fork returned.
    static FORKED: Cell<Option<libc::pid_t>> = const { Cell::new(None) };

    /// What the strike drew itself.
    static DRAWN: Cell<[u8; 32]> = const { Cell::new([0; 32]) };

    /// An owned generator's memory, and the page in it.
    static OWNED: RefCell<Memory> = RefCell::new(Memory::new());
    static OWNED_PAGE: Cell<Option<Page>> = const { Cell::new(None) };

    static SOURCE: Cell<Fill> = const { Cell::new(|bytes| SystemEntropy.fill(bytes)) };
}

pub(in super::super) fn step() {
    match STRIKE.take() {
        Some((0, strike)) => strike(),
        Some((steps, strike)) => STRIKE.set(Some((steps - 1, strike))),
        None => {}
    }
}

/// What stands for the operating system's entropy.
pub(super) struct Source;

impl EntropySource for Source {
    fn fill(&mut self, dst: &mut [u8]) -> Result<(), Error> {
        let filled = SOURCE.get()(dst);
        // Before the generator has them.
        step();
        filled
    }
}

fn page() -> Page {
    LOCAL.with(|local| local.page()).expect("a kernel with memory that a fork wipes")
}

/// Runs `test` on a new thread.
#[track_caller]
fn on_a_thread<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::spawn(test).join().expect("the thread ends well")
}

fn fork() {
    // SAFETY: the child draws, writes to its pipe and leaves by `_exit`.
    FORKED.set(Some(unsafe { libc::fork() }));
}

/// Has the kernel drop the pages, as it may at any time.
fn lose() {
    [Some(page()), OWNED_PAGE.get()].into_iter().flatten().for_each(lose_page);
}

fn lose_page(page: Page) {
    // SAFETY: the advice is for one page of a slab, whose contents may be lost at any time.
    let lost = unsafe { libc::madvise(page.as_ptr().cast(), 4096, libc::MADV_DONTNEED) };
    assert_eq!(lost, 0, "the page is still there");
}

fn lose_and_draw() {
    lose();
    draw_in_a_handler();
}

fn draw_in_a_handler() {
    let mut bytes = [0; 32];
    fill(&mut bytes).expect("there is entropy");
    DRAWN.set(bytes);
}

fn reseed_in_a_handler() {
    reseed().expect("there is entropy");
}

fn restore_in_a_handler() {
    // Like `on_restore`, which would reach into the tests that run beside this one.
    LOCAL.with(|local| local.slot.set(local.slot.get().map(Slot::before_a_restore)));
    draw_in_a_handler();
}

fn left() -> usize {
    LOCAL.with(|local| local.left.get())
}

fn take(len: usize) {
    fill(&mut std::vec![0; len]).expect("there is entropy");
}

/// Leaves `rest` bytes in the buffer.
fn leave(rest: usize) {
    if page().stamp() == 0 {
        take(1);
    }
    while left() > rest {
        take(1);
    }
}

const STRIKES: [(&str, Strike); 6] = [
    ("fork", fork),
    ("loss", lose),
    ("loss, and a handler that draws", lose_and_draw),
    ("a handler that draws", draw_in_a_handler),
    ("a handler that reseeds", reseed_in_a_handler),
    ("a handler after a restore", restore_in_a_handler),
];

const BEFORE: [(&str, fn()); 8] = [
    ("first call", || {}),
    ("buffer full", || take(1)),
    ("buffer in the middle", || leave(140)),
    ("one byte left", || leave(1)),
    ("buffer empty", || leave(0)),
    ("reseed wanted", || {
        take(1);
        add_entropy(b"a handful");
    }),
    ("seed of 60 seconds", || {
        leave(5);
        page().set_seeded_at(now().wrapping_sub(RESEED_NS));
    }),
    ("seed of a mebibyte", || {
        leave(5);
        page().set_bytes_since(RESEED_BYTES);
    }),
];

type Draw = fn(&mut [u8]) -> Result<(), Error>;

const DRAWS: [(&str, usize, Draw); 6] = [
    ("16 bytes", 16, |dst| fill(dst)),
    ("key of 256", 256, |dst| fill_keys(dst)),
    ("a word", 16, |dst| {
        let word: [u8; 16] = word().unwrap_or_else(|| {
            let mut word = [0; 16];
            fill(&mut word).map(|()| word).expect("there is entropy")
        });
        dst.copy_from_slice(&word);
        Ok(())
    }),
    ("less than in bulk", BULK - 1, |dst| fill(dst)),
    ("in bulk", BULK, |dst| fill(dst)),
    ("2 stretches", direct::KEY_BYTES + 512, |dst| fill(dst)),
];

fn draw_owned(dst: &mut [u8]) -> Result<(), Error> {
    OWNED.with_borrow_mut(|memory| memory.fill(&mut Source, b"label", dst).expect("a page"))
}

fn draw_strictly(dst: &mut [u8]) -> Result<(), Error> {
    Crng::builder().source(Source).policy(Policy::Strict).build()?.try_fill(dst)
}

/// Leaves `rest` bytes in the buffer of the owned generator.
fn leave_owned(rest: usize) -> Page {
    for _ in rest..480 {
        draw_owned(&mut [0]).expect("there is entropy");
    }
    let page = OWNED.with_borrow_mut(Memory::page).expect("a page");
    OWNED_PAGE.set(Some(page));
    page
}

const BEFORE_OWNED: [(&str, fn()); 5] = [
    ("first call", || _ = leave_owned(480)),
    ("buffer full", || _ = leave_owned(479)),
    ("one byte left", || _ = leave_owned(1)),
    ("seed of 60 seconds", || {
        leave_owned(5).set_seeded_at(now().wrapping_sub(RESEED_NS));
    }),
    ("seed of a mebibyte", || leave_owned(5).set_bytes_since(RESEED_BYTES)),
];

const DRAWS_OWNED: [(&str, usize, Draw); 4] = [
    ("owned, 16 bytes", 16, draw_owned),
    ("owned, 500 bytes", 500, draw_owned),
    ("owned, 2 stretches", direct::KEY_BYTES + 512, draw_owned),
    ("strict, 256 bytes", 256, draw_strictly),
];

/// One strike at one step: what each process has drawn then and next. `None` if the call has not as
/// many steps.
fn struck(
    before: fn(),
    (len, draw, next): (usize, Draw, Draw),
    strike: Strike,
    steps: u32,
) -> Option<Vec<u8>> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the descriptors were just made and belong to nobody else.
    let [mut reader, mut writer] = ends.map(|end| unsafe { File::from_raw_fd(end) });
    let mut bytes = std::vec![0; len + 64];
    before();
    FORKED.set(None);
    DRAWN.set([0; 32]);
    STRIKE.set(Some((steps, strike)));
    let drawn = draw(&mut bytes[..len]);
    let reached = STRIKE.take().is_none();
    let next = next(&mut bytes[len..]);
    if FORKED.get() == Some(0) {
        let written = drawn.is_ok() && next.is_ok() && writer.write_all(&bytes).is_ok();
        // SAFETY: the child ends here, without running what is the parent's.
        unsafe { libc::_exit(i32::from(!written)) };
    }
    drop(writer);
    assert_eq!((drawn, next), (Ok(()), Ok(())));
    if let Some(child) = FORKED.get() {
        reader.read_to_end(&mut bytes).expect("the child's bytes");
        assert_eq!(bytes.len(), 2 * (len + 64), "the child failed");
        // SAFETY: a null pointer asks for no status.
        unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    }
    let handlers = DRAWN.get();
    if handlers != [0; 32] {
        bytes.extend(handlers);
    }
    reached.then_some(bytes)
}

/// Every strike at every step of every draw, in every state. The number of cells and of strikes.
fn strike_everywhere(
    befores: &[(&str, fn())],
    draws: &[(&str, usize, Draw)],
    next: Draw,
) -> (u32, u32) {
    let (mut cells, mut steps_of_all) = (0, 0);
    for &(before, prepare) in befores {
        for &(drawn, len, draw) in draws {
            for (what, strike) in STRIKES {
                cells += 1;
                for steps in 0.. {
                    let call = (len, draw, next);
                    let run = on_a_thread(move || struck(prepare, call, strike, steps));
                    let Some(bytes) = run else { break };
                    steps_of_all += 1;
                    let (pieces, _) = bytes.as_chunks::<16>();
                    let distinct: HashSet<_> = pieces.iter().collect();
                    let case = std::format!("{before}, {drawn}, {what} at step {steps}");
                    assert!(!distinct.contains(&[0; 16]), "{case}: zeros");
                    assert_eq!(distinct.len(), pieces.len(), "{case}: bytes twice");
                }
            }
        }
    }
    std::println!("{cells} cells, {steps_of_all} strikes");
    (cells, steps_of_all)
}

#[test]
fn a_strike_at_any_step_leaves_no_bytes_twice_and_no_zeros() {
    let (cells, strikes) = strike_everywhere(&BEFORE, &DRAWS, fill);
    assert!(cells == 288 && strikes > 2000, "{cells} cells, {strikes} strikes");
}

#[test]
fn a_strike_at_any_step_of_an_owned_generator_leaves_no_bytes_twice_and_no_zeros() {
    let (cells, strikes) = strike_everywhere(&BEFORE_OWNED, &DRAWS_OWNED, draw_owned);
    assert!(cells == 120 && strikes > 1000, "{cells} cells, {strikes} strikes");
}

#[test]
fn pages_lost_from_another_thread_give_no_bytes_twice_and_no_zeros() {
    on_a_thread(|| {
        take(1);
        let (page, done) = (page(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    lose_page(page);
                    std::thread::yield_now();
                }
            });
            let mut drawn = HashSet::new();
            for len in [16, 256, BULK + 500].into_iter().cycle().take(1_000_000) {
                if health().reseeds() > 100 {
                    break;
                }
                std::thread::yield_now();
                let mut bytes = std::vec![0; len];
                fill(&mut bytes).expect("there is entropy");
                let last = *bytes.last_chunk::<16>().expect("as many");
                assert!(
                    last != [0; 16] && drawn.insert(last),
                    "{len} bytes: zeros, or bytes twice"
                );
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(health().reseeds() > 100, "the losses were not seen");
    });
}

#[test]
fn every_length_takes_the_next_bytes_and_leaves_zeros() {
    type Take = fn(&mut [u8]);
    let takes: [Take; 3] = [
        |dst| fill(dst).expect("there is entropy"),
        |dst| fill_keys(dst).expect("there is entropy"),
        |dst| {
            let Ok(array) = <&mut [u8; 32]>::try_from(&mut *dst) else {
                return fill(dst).expect("there is entropy");
            };
            fill_array(array, true).expect("there is entropy");
        },
    ];
    on_a_thread(move || {
        take(1);
        for (len, take) in (0..=130).flat_map(|len| takes.map(|take| (len, take))) {
            while left() < len {
                fill(&mut [0]).expect("there is entropy");
            }
            let (before, at) = (contents(page()), 4096 - left());
            let mut bytes = std::vec![0; len];
            take(&mut bytes);
            let mut after = before;
            after[at..at + len].fill(0);
            assert_eq!(bytes, before[at..at + len], "length {len}");
            assert!(contents(page()) == after, "length {len}: the page");
        }
    });
}

/// Byte by byte: the compiler makes 4096 loads, and stores, of one that reads them as an array.
fn contents(page: Page) -> [u8; 4096] {
    // SAFETY: the page is mapped and this thread's.
    core::array::from_fn(|at| unsafe { page.as_ptr().add(at).read_volatile() })
}

#[test]
fn the_end_of_a_thread_gives_its_page_back_wiped() {
    on_a_thread(|| {
        take(1);
        let page = page();
        let stamp = page.stamp();
        LOCAL.with(Local::close);
        // Zero, or that of a thread that has taken the page since.
        assert_ne!(page.stamp(), stamp);
        take(100);
        assert_eq!(health().refills(), 1, "a thread that has ended works in direct mode");
    });
}

#[test]
fn a_page_from_before_a_restore_is_given_back_wiped() {
    on_a_thread(|| {
        take(1);
        LOCAL.with(|local| local.slot.set(local.slot.get().map(Slot::before_a_restore)));
        assert_eq!(page().stamp(), 0);
        assert_eq!(left(), 0);
    });
}

#[test]
fn a_refill_erases_the_old_key() {
    on_a_thread(|| {
        leave(0);
        let mut key = [0; 32];
        page().copy_key(&mut key);
        take(1);
        assert!(!contents(page()).windows(32).any(|bytes| bytes == key));
    });
}

#[test]
fn a_reseed_erases_what_the_buffer_held() {
    on_a_thread(|| {
        for _ in 0..3 {
            take(1);
            leave(0);
        }
        take(1);
        let old = contents(page())[4096 - left()..].to_vec();
        assert_eq!(old.len() + 1, 64 * REFILLS[2] - 32);
        // The next refill is short: it covers little of what was there.
        page().set_refilled_at(now().wrapping_sub(2 * SHORT_LIVED_NS));
        reseed().expect("there is entropy");
        let new = contents(page());
        let kept =
            old.as_chunks::<16>().0.iter().filter(|old| new.windows(16).any(|new| new == *old));
        assert_eq!(kept.count(), 0);
    });
}

/// R2: the stamp and the epoch are good, as they would be if a page lost its key alone.
#[test]
fn a_page_whose_key_is_zero_is_seeded_anew() {
    on_a_thread(|| {
        leave(0);
        page().set_key(&[0; 32]);
        let mut bytes = [0; 32];
        fill(&mut bytes).expect("there is entropy");
        assert_eq!(health().reseeds(), 2, "the zero key was taken for one");
        let zeros = crate::chacha::block(&[0; 32], 0, &[0; 12]);
        assert!(zeros.windows(32).all(|known| known != bytes));
    });
}

#[test]
fn refills_grow_under_demand() {
    on_a_thread(|| {
        let mut lengths = Vec::new();
        for _ in 0..4 {
            take(1);
            lengths.push(left() + 1);
            leave(0);
        }
        let [first, second, most] = REFILLS;
        assert_eq!(lengths, [first, second, most, most].map(|blocks| 64 * blocks - 32));
        leave(0);
        page().set_refilled_at(now().wrapping_sub(2 * SHORT_LIVED_NS));
        take(1);
        assert_eq!(left() + 1, 64 * first - 32);
    });
}

#[test]
fn a_seed_lasts_a_minute_and_a_mebibyte() {
    on_a_thread(|| {
        leave(40);
        let age = |age: u64| page().set_seeded_at(now().wrapping_sub(age));
        age(RESEED_NS - 1_000_000_000);
        fill_keys(&mut [0; 16]).expect("there is entropy");
        assert_eq!(health().reseeds(), 1);
        age(RESEED_NS);
        fill_keys(&mut [0; 15]).expect("there is entropy");
        assert_eq!(health().reseeds(), 1, "short keys and bytes don't look at the clock");
        fill_keys(&mut [0; 16]).expect("there is entropy");
        assert_eq!(health().reseeds(), 2);
        age(RESEED_NS);
        fill_array(&mut [0; 15], true).expect("there is entropy");
        fill_array(&mut [0; 16], false).expect("there is entropy");
        assert_eq!(health().reseeds(), 2, "nor do they in arrays");
        fill_array(&mut [0; 16], true).expect("there is entropy");
        assert_eq!(health().reseeds(), 3);
        page().set_bytes_since(RESEED_BYTES);
        leave(0);
        assert_eq!(health().reseeds(), 3);
        take(1);
        assert_eq!(health().reseeds(), 4);
        assert!(page().bytes_since() < RESEED_BYTES);
    });
}

#[test]
fn an_owned_generator_looks_at_the_clock_for_16_bytes_and_more() {
    on_a_thread(|| {
        let reseeds = |memory: &mut Memory, len: usize| {
            memory.fill(&mut Source, b"label", &mut std::vec![0; len]).expect("a page")?;
            Ok::<_, Error>(memory.health.reseeds())
        };
        let mut memory = Memory::new();
        assert_eq!(reseeds(&mut memory, 16), Ok(1));
        memory.page().expect("a page").set_seeded_at(now().wrapping_sub(RESEED_NS));
        assert_eq!(reseeds(&mut memory, 15), Ok(1));
        assert_eq!(reseeds(&mut memory, 16), Ok(2));
        assert_eq!(reseeds(&mut memory, 16), Ok(2));
    });
}

#[test]
fn a_request_for_new_entropy_is_met_at_the_next_call() {
    on_a_thread(|| {
        take(1);
        add_entropy(b"x");
        take(1);
        assert_eq!(health().reseeds(), 2);
        reseed().expect("there is entropy");
        assert_eq!(health().reseeds(), 3);
        page().set_epoch(EPOCH.0.load(Ordering::Relaxed) - 1);
        take(1);
        assert_eq!(health().reseeds(), 4);
        take(1);
        assert_eq!(health().reseeds(), 4);
        STRIKE.set(Some((0, reseed_in_a_handler)));
        take(1);
        assert_eq!(health().reseeds(), 4, "a handler's request is left to the next call");
        take(1);
        assert_eq!(health().reseeds(), 5);
    });
}

const FAULTY: [(Fill, Error); 3] = [
    (|_| Err(Error::SOURCE), Error::SOURCE),
    (
        |bytes| {
            bytes.fill(0);
            Ok(())
        },
        Error::WEAK,
    ),
    (
        |bytes| {
            bytes[..16].fill(7);
            Err(Error::SOURCE)
        },
        Error::SOURCE,
    ),
];

#[test]
fn a_first_seed_that_fails_leaves_the_page_unseeded() {
    for (source, error) in FAULTY {
        on_a_thread(move || {
            SOURCE.set(source);
            assert_eq!(reseed(), Err(error));
            assert_eq!(contents(page()), [0; 4096]);
            // Direct mode asks the operating system, which the mock does not stand in front of.
            take(1);
            assert_eq!(health(), Health { reseeds: 0, refills: 0, error: Some(error) });
        });
    }
}

#[test]
fn a_later_seed_that_fails_is_shown_and_tried_again() {
    for (source, error) in FAULTY {
        on_a_thread(move || {
            take(1);
            let good = SOURCE.replace(source);
            let mut bytes = [[0; 16]; 3];
            add_entropy(b"x");
            fill(&mut bytes[0]).expect("the old key goes on");
            assert_eq!(health(), Health { reseeds: 1, refills: 2, error: Some(error) });
            // Keys wait a second before they ask again.
            fill_keys(&mut bytes[1]).expect("the old key goes on");
            assert_eq!(health().refills(), 2);
            page().set_seeded_at(page().seeded_at().wrapping_sub(RETRY_NS));
            SOURCE.set(good);
            fill_keys(&mut bytes[2]).expect("there is entropy");
            assert_eq!(health(), Health { reseeds: 2, refills: 3, error: None });
            assert!(bytes[0] != bytes[1] && bytes[1] != bytes[2]);
        });
    }
}

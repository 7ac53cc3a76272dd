//! One run of a model: which atomics, mappings and thread-locals it has had so far.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64 as Counter, Ordering::Relaxed};

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU64;
use loom::thread::ThreadId;

use crate::kernel::Kernel;

/// More than any model has.
const ATOMICS: usize = 160;
const CELLS: usize = 24;

pub(crate) const PAGE: usize = 4096;

/// What is mapped; never given back before the run ends, so that no address comes twice.
pub(crate) struct Mapping {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) mapped: bool,
    pub(crate) droppable: bool,
    /// Written by the thread that maps it: who reads must have it from there.
    cell: Rc<UnsafeCell<()>>,
}

impl Mapping {
    pub(crate) fn place(&self) -> Range<usize> {
        self.start..self.start + self.len
    }
}

/// A key of `pthread_key_create`.
pub(crate) struct Key {
    pub(crate) destructor: unsafe extern "C" fn(*mut libc::c_void),
    pub(crate) deleted: bool,
    pub(crate) values: HashMap<ThreadId, usize>,
}

#[derive(Default)]
pub(crate) struct Run {
    atomics: HashMap<usize, Rc<AtomicU64>>,
    pages: HashMap<usize, Rc<UnsafeCell<()>>>,
    pub(crate) mappings: Vec<Mapping>,
    /// How many mappings may still succeed; all without.
    pub(crate) allowed: Option<usize>,
    pub(crate) kernel: Kernel,
    locals: HashMap<(ThreadId, usize), Rc<dyn Any>>,
    pub(crate) keys: Vec<Key>,
    pub(crate) no_keys: bool,
    // Made before the model's threads, so that making one is no event between them.
    spare_atomics: Vec<Rc<AtomicU64>>,
    spare_cells: Vec<Rc<UnsafeCell<()>>>,
}

std::thread_local! {
    /// All of loom's threads are one thread.
    static RUN: RefCell<Run> = RefCell::default();
}

/// What is asked in here is no step of the model: nothing of loom's may be called that switches.
pub(crate) fn run<T>(f: impl FnOnce(&mut Run) -> T) -> T {
    RUN.with_borrow_mut(f)
}

/// Runs `model` once for each interleaving: how many there were, or what one of them said.
pub fn explore(preemptions: usize, model: fn()) -> Result<u64, String> {
    static RUNS: Counter = Counter::new(0);
    RUNS.store(0, Relaxed);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    let check = || {
        builder.check(move || {
            RUNS.fetch_add(1, Relaxed);
            anew();
            model();
        });
    };
    let checked = catch_unwind(AssertUnwindSafe(check));
    checked.map(|()| RUNS.load(Relaxed)).map_err(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().copied().unwrap_or_default().to_string(),
    })
}

fn anew() {
    let mut fresh = Run::default();
    fresh.spare_atomics.resize_with(ATOMICS, || Rc::new(AtomicU64::new(0)));
    fresh.spare_cells.resize_with(CELLS, || Rc::new(UnsafeCell::new(())));
    let old = RUN.replace(fresh);
    for mapping in old.mappings {
        // SAFETY: `kernel::mmap` mapped it, and the run that used it is over.
        unsafe { libc::munmap(mapping.start as *mut _, mapping.len) };
    }
}

impl Run {
    pub(crate) fn mapping(&mut self, at: usize) -> Option<&mut Mapping> {
        self.mappings.iter_mut().find(|mapping| mapping.place().contains(&at))
    }

    fn spare_cell(&mut self) -> Rc<UnsafeCell<()>> {
        self.spare_cells.pop().expect("CELLS are enough")
    }

    pub(crate) fn map(&mut self, start: usize, len: usize, droppable: bool) -> Rc<UnsafeCell<()>> {
        let cell = self.spare_cell();
        self.mappings.push(Mapping { start, len, mapped: true, droppable, cell: Rc::clone(&cell) });
        cell
    }

    pub(crate) fn refused(&mut self) -> bool {
        let refused = self.allowed == Some(0);
        self.allowed = self.allowed.map(|allowed| allowed.saturating_sub(1));
        refused
    }

    pub(crate) fn unmap(&mut self, start: usize, len: usize) -> Rc<UnsafeCell<()>> {
        let mapping = self.mapping(start).expect("it was mapped");
        assert!(mapping.mapped, "unmapped twice");
        assert_eq!(mapping.place(), start..start + len, "unmapped in part");
        mapping.mapped = false;
        Rc::clone(&mapping.cell)
    }

    /// The atomics in mapped memory.
    pub(crate) fn atomics_in_mappings(&self) -> Vec<Rc<AtomicU64>> {
        let mapped = |at| self.mappings.iter().any(|mapping| mapping.place().contains(at));
        let inside = self.atomics.iter().filter(|(at, _)| mapped(at));
        inside.map(|(_, atomic)| Rc::clone(atomic)).collect()
    }
}

/// Who uses mapped memory must know of the mapping from the thread that made it.
fn known(at: usize) -> bool {
    let cell = run(|run| {
        run.mapping(at).map(|mapping| {
            assert!(mapping.mapped, "used after it was unmapped");
            Rc::clone(&mapping.cell)
        })
    });
    cell.inspect(|cell| cell.with(|_| ())).is_some()
}

/// A thread reads or writes at an address: where that is a page of mapped memory, two threads must not
/// do so at once.
pub(crate) fn touch(at: usize, write: bool) {
    if !known(at) {
        return;
    }
    let cell = run(|run| {
        let page = at / PAGE;
        if let Some(cell) = run.pages.get(&page) {
            return Rc::clone(cell);
        }
        let cell = run.spare_cell();
        run.pages.insert(page, Rc::clone(&cell));
        cell
    });
    if write { cell.with_mut(|_| ()) } else { cell.with(|_| ()) }
}

/// The atomic that lies at an address.
pub(crate) fn atomic(at: usize) -> Rc<AtomicU64> {
    known(at);
    run(|run| {
        if let Some(atomic) = run.atomics.get(&at) {
            return Rc::clone(atomic);
        }
        let atomic = run.spare_atomics.pop().expect("ATOMICS are enough");
        run.atomics.insert(at, Rc::clone(&atomic));
        atomic
    })
}

/// A thread-local without a destructor: it stays for as long as the run, so that its place comes once.
pub struct LocalKey<T: 'static> {
    value: fn() -> T,
}

impl<T> LocalKey<T> {
    pub const fn new(value: fn() -> T) -> Self {
        Self { value }
    }

    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = (loom::thread::current().id(), std::ptr::from_ref(self).addr());
        let local = run(|run| {
            let value = || Rc::new((self.value)()) as Rc<dyn Any>;
            Rc::clone(run.locals.entry(key).or_insert_with(value))
        });
        f(local.downcast_ref().expect("each key has one type"))
    }
}

/// What the C library does when a thread ends.
pub fn end_of_thread() {
    let thread = loom::thread::current().id();
    let left = run(|run| {
        let keys = run.keys.iter_mut().filter(|key| !key.deleted);
        keys.filter_map(|key| Some((key.destructor, key.values.remove(&thread)?)))
            .collect::<Vec<_>>()
    });
    for (destructor, value) in left {
        // SAFETY: the library gave both to `pthread_key_create` and `pthread_setspecific`.
        unsafe { destructor(value as *mut _) };
    }
}

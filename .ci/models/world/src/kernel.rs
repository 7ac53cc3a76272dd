//! `libc`, as far as the library calls it: a kernel with memory that a fork wipes, and threads' ends.

pub use libc::{
    _SC_PAGESIZE, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME, MADV_DONTDUMP, MADV_KEEPONFORK,
    MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, c_int, c_void,
    clockid_t, off_t, pthread_key_t, timespec,
};

use crate::run::{Key, PAGE, run};

/// `MAP_DROPPABLE`; not every `libc` has it.
const DROPPABLE: c_int = 0x08;

/// What a kernel can do, and how honest it is.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Knows `MAP_DROPPABLE`.
    pub droppable: bool,
    /// Keeps droppable memory over a fork, if it is told to: it only says that it knows the flag.
    pub keeps_droppable: bool,
    /// Knows `MADV_WIPEONFORK`.
    pub wipes: bool,
    /// Knows `MADV_DONTDUMP`.
    pub hides: bool,
    /// Takes whatever advice it is given.
    pub believes_all: bool,
}

impl Kernel {
    /// Linux 6.11 and later.
    pub const DROPPABLE: Self = Self {
        droppable: true,
        keeps_droppable: false,
        wipes: true,
        hides: true,
        believes_all: false,
    };
}

impl Default for Kernel {
    fn default() -> Self {
        Self::DROPPABLE
    }
}

/// Changes the kernel.
pub fn run_on(kernel: Kernel) {
    run(|run| run.kernel = kernel);
}

/// As [`libc::mmap`]; the thread that maps has written it all.
///
/// # Safety
///
/// As there.
pub unsafe fn mmap(
    at: *mut c_void,
    len: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let droppable = flags == DROPPABLE | MAP_ANONYMOUS;
    assert!(droppable || flags == MAP_PRIVATE | MAP_ANONYMOUS, "{flags:x}");
    assert_eq!((file, offset), (-1, 0), "anonymous memory is of no file");
    if run(|run| run.refused() || droppable && !run.kernel.droppable) {
        return MAP_FAILED;
    }
    // SAFETY: the caller's; the flags are those that every kernel knows.
    let place = unsafe { libc::mmap(at, len, access, MAP_PRIVATE | MAP_ANONYMOUS, file, offset) };
    assert_ne!(place, MAP_FAILED);
    run(|run| run.map(place.addr(), len, droppable)).with_mut(|_| ());
    place
}

/// As [`libc::munmap`]: nobody else may use the memory any more.
///
/// # Safety
///
/// As there.
pub unsafe fn munmap(place: *mut c_void, len: usize) -> c_int {
    run(|run| run.unmap(place.addr(), len)).with_mut(|_| ());
    0
}

/// As [`libc::madvise`].
///
/// # Safety
///
/// None: it does nothing.
pub unsafe fn madvise(place: *mut c_void, len: usize, advice: c_int) -> c_int {
    let taken = run(|run| {
        let kernel = run.kernel;
        let mapping = run.mapping(place.addr()).expect("it was mapped");
        let start = place.addr();
        assert_eq!(mapping.place(), start..start + len, "advice for a part");
        kernel.believes_all
            || match advice {
                MADV_WIPEONFORK => kernel.wipes && !mapping.droppable,
                MADV_DONTDUMP => kernel.hides,
                MADV_KEEPONFORK => !mapping.droppable || kernel.keeps_droppable,
                // Those that there have always been.
                _ => (0..=4).contains(&advice),
            }
    });
    if taken { 0 } else { -1 }
}

/// Has no more than so many mappings succeed.
pub fn refuse_after(mappings: usize) {
    run(|run| run.allowed = Some(mappings));
}

/// How many mappings there are.
pub fn mapped() -> usize {
    run(|run| run.mappings.iter().filter(|mapping| mapping.mapped).count())
}

/// The number of the mapping that an address lies in, from 0.
pub fn mapping_of(at: usize) -> Option<usize> {
    run(|run| run.mappings.iter().position(|mapping| mapping.place().contains(&at)))
}

/// What a fork leaves of the atomics in mapped memory: zeros. To be called where there is one thread, as
/// there is in a child.
pub fn wipe_as_a_fork_does() {
    let atomics = run(|run| run.atomics_in_mappings());
    atomics.iter().for_each(|atomic| atomic.store(0, loom::sync::atomic::Ordering::SeqCst));
}

/// # Safety
///
/// As [`libc::sysconf`].
pub unsafe fn sysconf(_name: c_int) -> std::ffi::c_long {
    PAGE as _
}

/// A clock that stands still, or the runs of a model would differ.
///
/// # Safety
///
/// As [`libc::clock_gettime`].
pub unsafe fn clock_gettime(_clock: c_int, time: *mut timespec) -> c_int {
    // SAFETY: the caller's.
    unsafe { time.write(timespec { tv_sec: 100, tv_nsec: 0 }) };
    0
}

/// # Safety
///
/// As [`libc::pthread_key_create`].
pub unsafe fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    if run(|run| run.no_keys) {
        return libc::EAGAIN;
    }
    let number = run(|run| {
        let destructor = destructor.expect("the library gives one");
        run.keys.push(Key { destructor, deleted: false, values: Default::default() });
        run.keys.len() - 1
    });
    // SAFETY: the caller's.
    unsafe { key.write(number as pthread_key_t) };
    0
}

/// # Safety
///
/// As [`libc::pthread_key_delete`].
pub unsafe fn pthread_key_delete(key: pthread_key_t) -> c_int {
    run(|run| run.keys[key as usize].deleted = true);
    0
}

/// # Safety
///
/// As [`libc::pthread_setspecific`].
pub unsafe fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    let thread = loom::thread::current().id();
    run(|run| {
        let key = &mut run.keys[key as usize];
        assert!(!key.deleted, "a key that was deleted");
        key.values.insert(thread, value.addr());
    });
    0
}

/// Has there be no more keys.
pub fn refuse_keys() {
    run(|run| run.no_keys = true);
}

/// How many keys there are.
pub fn keys() -> usize {
    run(|run| run.keys.iter().filter(|key| !key.deleted).count())
}

//! Calls from where calls are rare: signal handlers, the ends of threads and of the process, panic
//! hooks, sandboxes; and very many threads.

#![cfg(target_os = "linux")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, RefCell};
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::System;
use std::collections::HashSet;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Mutex;

use keyspring::crng::{self, SessionKey};

/// Runs `child` in a process of its own: this test binary once more, with a variable set.
#[track_caller]
fn in_a_process(test: &str, child: impl FnOnce()) {
    const CHILD: &str = "CRNG_LIFE_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let program = std::env::current_exe().expect("this program");
    let run = Command::new(program).args([test, "--exact", "--nocapture"]).env(CHILD, "1").output();
    let run = run.expect("a child");
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{test}: {}\n{told}", run.status);
    // None would pass too, of a name that no test has.
    assert!(String::from_utf8_lossy(&run.stdout).contains("1 passed"), "no test {test}");
}

static HANDLED: AtomicUsize = AtomicUsize::new(0);
static ZEROS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn draw_in_a_handler(_signal: libc::c_int) {
    let mut bytes = [0; 40];
    crng::fill(&mut bytes);
    ZEROS.fetch_add(usize::from(bytes[..16] == [0; 16]), Ordering::Relaxed);
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn handlers_at_10_khz_and_the_calls_they_interrupt_draw_different_bytes() {
    in_a_process("handlers_at_10_khz_and_the_calls_they_interrupt_draw_different_bytes", || {
        crng::warm_up().expect("there is entropy");
        let handler: extern "C" fn(libc::c_int) = draw_in_a_handler;
        // SAFETY: the handler draws, which a handler may, and counts.
        unsafe { libc::signal(libc::SIGALRM, handler as libc::sighandler_t) };
        let every = libc::timeval { tv_sec: 0, tv_usec: 100 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        // SAFETY: the timer is read, and no old one is asked for.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, core::ptr::null_mut()) };
        let mut seen = HashSet::new();
        let mut bytes = [0; 700];
        let start = std::time::Instant::now();
        let mut calls = 0;
        while start.elapsed().as_millis() < 1500 {
            for len in [16, 32, 256, 700] {
                crng::fill(&mut bytes[..len]);
                calls += 1;
                if calls % 64 < 4 {
                    assert!(seen.insert(*bytes[..len].last_chunk::<16>().expect("16 bytes")));
                }
            }
        }
        let stop = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let timer = libc::itimerval { it_interval: stop, it_value: stop };
        // SAFETY: as above.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, core::ptr::null_mut()) };
        assert!(!seen.contains(&[0; 16]));
        assert_eq!(ZEROS.load(Ordering::Relaxed), 0);
        let handled = HANDLED.load(Ordering::Relaxed);
        println!("{handled} handlers drew, {calls} calls");
        assert!(handled > 1000, "{handled} handlers drew");
    });
}

#[test]
fn destructors_of_thread_locals_may_draw() {
    static DRAWN: Mutex<Vec<[u8; 32]>> = Mutex::new(Vec::new());

    struct DrawsAtTheEnd;

    impl Drop for DrawsAtTheEnd {
        fn drop(&mut self) {
            DRAWN.lock().expect("nobody panicked").push(crng::bytes());
        }
    }

    std::thread_local! {
        static BEFORE: Cell<Option<DrawsAtTheEnd>> = const { Cell::new(None) };
        static AFTER: RefCell<Option<DrawsAtTheEnd>> = const { RefCell::new(None) };
    }

    for _ in 0..20 {
        let thread = std::thread::spawn(|| {
            BEFORE.set(Some(DrawsAtTheEnd));
            let bytes: [u8; 32] = crng::bytes();
            AFTER.replace(Some(DrawsAtTheEnd));
            bytes
        });
        let bytes = thread.join().expect("the thread ends well");
        DRAWN.lock().expect("nobody panicked").push(bytes);
    }
    let drawn = DRAWN.lock().expect("nobody panicked");
    assert_eq!(drawn.len(), 60);
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 60);
}

/// The destructor of a `pthread` key that is older than the generator's draws after that's own.
#[test]
fn a_thread_that_has_given_its_page_back_may_draw() {
    static DRAWN: Mutex<Vec<[u8; 32]>> = Mutex::new(Vec::new());
    static KEY: std::sync::OnceLock<libc::pthread_key_t> = std::sync::OnceLock::new();

    extern "C" fn draw_again(rounds_left: *mut libc::c_void) {
        DRAWN.lock().expect("nobody panicked").push(crng::bytes());
        if rounds_left.addr() > 1 {
            let next = core::ptr::without_provenance::<libc::c_void>(rounds_left.addr() - 1);
            // SAFETY: the key was created; the value is a number.
            unsafe { libc::pthread_setspecific(*KEY.get().expect("made"), next) };
        }
    }

    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` has room for one.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(draw_again)) }, 0);
        key
    });
    let thread = std::thread::spawn(move || {
        // SAFETY: the key was created; the value is a number.
        unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(3)) };
        crng::bytes()
    });
    let mut all = vec![thread.join().expect("the thread ends well")];
    all.append(&mut DRAWN.lock().expect("nobody panicked"));
    assert_eq!(all.len(), 4);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 4);
}

#[test]
fn handlers_at_the_exit_and_panic_hooks_may_draw() {
    extern "C" fn at_exit() {
        let bytes: [u8; 64] = crng::bytes();
        if bytes[..32] == bytes[32..] {
            // SAFETY: the process ends here, with a failure.
            unsafe { libc::_exit(9) };
        }
    }

    in_a_process("handlers_at_the_exit_and_panic_hooks_may_draw", || {
        static DRAWN: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: the handler draws and compares.
        assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {
            DRAWN.store(crng::range(1..), Ordering::Relaxed);
        }));
        let panicked = catch_unwind(|| crng::below(0));
        std::panic::set_hook(hook);
        assert!(panicked.is_err());
        assert_ne!(DRAWN.load(Ordering::Relaxed), 0);
    });
}

/// Draws for each allocation of a thread that asks for it, and for what the drawing itself allocates.
struct DrawsToAllocate;

std::thread_local! {
    static ALLOCATIONS_DRAWN: Cell<Option<u64>> = const { Cell::new(None) };
}

// SAFETY: it hands everything on to the system's allocator.
unsafe impl GlobalAlloc for DrawsToAllocate {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(before) = ALLOCATIONS_DRAWN.get() {
            let drawn = crng::range(1..=1 << 40);
            ALLOCATIONS_DRAWN.set(Some(before ^ drawn));
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: DrawsToAllocate = DrawsToAllocate;

#[test]
fn allocators_and_loggers_may_draw() {
    /// A logger that marks its lines, as one for requests would.
    fn log(line: &str) -> String {
        format!("{:016x} {line}", crng::u64())
    }

    let thread = std::thread::spawn(|| {
        ALLOCATIONS_DRAWN.set(Some(0));
        // The first draw of this thread is one that an allocation makes.
        let lines: Vec<_> = (0..100).map(|number| log(&number.to_string())).collect();
        let keys = crng::keys::<32>(20);
        let drawn = ALLOCATIONS_DRAWN.replace(None);
        assert_eq!(lines.iter().collect::<HashSet<_>>().len(), 100);
        assert_eq!(keys.iter().map(|key| key.as_bytes()).collect::<HashSet<_>>().len(), 20);
        drawn
    });
    let drawn = thread.join().expect("no deadlock, no panic");
    assert!(drawn.is_some_and(|drawn| drawn != 0), "no allocation drew");
}

/// The pages that the process has in memory.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    statm.split(' ').nth(1).expect("the second number").parse().expect("a number")
}

#[test]
fn a_hundred_thousand_threads_leave_the_memory_flat() {
    in_a_process("a_hundred_thousand_threads_leave_the_memory_flat", || {
        let run = |threads: usize| {
            for _ in 0..threads / 4 {
                let four = [(); 4].map(|()| std::thread::spawn(crng::u64));
                let _ = four.map(|thread| thread.join().expect("the thread ends well"));
            }
        };
        run(2000);
        let before = resident();
        run(98_000);
        let after = resident();
        println!("{before} pages resident before, {after} after");
        assert!(after < before + 64, "{before} pages resident before, {after} after");
    });
}

/// Every call that asks for new entropy has the next draw, or itself, get some.
#[test]
fn requests_for_new_entropy_are_met() {
    const REQUESTS: [(&str, fn()); 4] = [
        ("reseed", || crng::reseed().expect("there is entropy")),
        ("reseed_all", crng::reseed_all),
        ("add_entropy", || crng::add_entropy(b"a little")),
        ("on_restore", crng::on_restore),
    ];
    in_a_process("requests_for_new_entropy_are_met", || {
        crng::warm_up().expect("there is entropy");
        let mut owned = crng::Crng::new().expect("there is entropy");
        for (name, request) in REQUESTS {
            crng::fill(&mut [0; 8]);
            owned.try_fill(&mut [0; 8]).expect("there is entropy");
            let before = [crng::health(), owned.health()];
            request();
            crng::fill(&mut [0; 8]);
            owned.try_fill(&mut [0; 8]).expect("there is entropy");
            let all = name.ends_with("all") || name.starts_with("on");
            let drawn = [crng::health(), owned.health()].map(|health| health.reseeds());
            let expected = [before[0].reseeds() + 1, before[1].reseeds() + u64::from(all)];
            assert_eq!(drawn, expected, "{name}");
        }
    });
}

/// A thread that can map no page works in direct mode, and so does an owned generator.
#[test]
fn without_memory_each_call_asks_the_operating_system() {
    in_a_process("without_memory_each_call_asks_the_operating_system", || {
        let mut bytes = [[0; 300]; 4];
        let none = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit is read.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const none) }, 0);
        let first = crng::mode();
        let filled = crng::try_fill(&mut bytes[0]).and_then(|()| crng::try_fill(&mut bytes[1]));
        let mode = crng::mode();
        let owned = crng::Crng::new().and_then(|mut owned| {
            owned.try_fill(&mut bytes[2])?;
            owned.try_fill(&mut bytes[3])
        });
        let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const all) }, 0);
        assert_eq!((filled, owned), (Ok(()), Ok(())));
        assert_eq!([first, mode], [crng::Mode::Direct; 2]);
        let distinct: HashSet<_> = bytes.iter().flat_map(|bytes| bytes.chunks(20)).collect();
        assert_eq!(distinct.len(), 60);
    });
}

#[test]
fn without_lockable_memory_files_and_processes_the_mode_is_the_same() {
    in_a_process("without_lockable_memory_files_and_processes_the_mode_is_the_same", || {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        for limit in [libc::RLIMIT_MEMLOCK, libc::RLIMIT_NOFILE, libc::RLIMIT_NPROC] {
            // SAFETY: the limit is read.
            assert_eq!(unsafe { libc::setrlimit(limit, &raw const none) }, 0);
        }
        assert_ne!(crng::mode(), crng::Mode::Direct);
        assert_ne!(crng::u128(), crng::u128());
        assert_eq!(crng::health().reseeds(), 1);
    });
}

const RETURN_ERROR: u32 = 0x0005_0000;
const KILL_PROCESS: u32 = 0x8000_0000;

/// Has the kernel do this on `getrandom` and every opening of a file, for good.
fn forbid_entropy(verdict: u32) {
    const ALLOW: u32 = 0x7fff_0000;
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let result = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        step(load, 0, 0, 0),
        step(equal, 2, 0, libc::SYS_getrandom as u32),
        step(equal, 1, 0, libc::SYS_openat as u32),
        step(result, 0, 0, ALLOW),
        step(result, 0, 0, verdict),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the numbers are those of the manual.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the program lives until the kernel has copied it.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) }, 0);
}

#[test]
fn a_thread_that_is_warm_draws_in_a_sandbox_without_entropy() {
    in_a_process("a_thread_that_is_warm_draws_in_a_sandbox_without_entropy", || {
        crng::warm_up().expect("there is entropy");
        forbid_entropy(RETURN_ERROR | libc::EPERM as u32);
        assert_ne!(crng::session_key(), crng::session_key());
        assert_eq!(crng::reseed(), Err(crng::Error::SOURCE));
        assert!(crng::health().degraded());
        assert_ne!(crng::session_key(), crng::session_key());
    });
}

#[test]
fn a_thread_that_is_warm_lives_to_its_next_seed_in_a_sandbox_that_kills() {
    in_a_process("a_thread_that_is_warm_lives_to_its_next_seed_in_a_sandbox_that_kills", || {
        let status_of = |call: fn()| {
            // SAFETY: the child draws and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                crng::warm_up().expect("there is entropy");
                forbid_entropy(KILL_PROCESS);
                call();
                // SAFETY: as above.
                unsafe { libc::_exit(0) };
            }
            let mut status = -1;
            // SAFETY: `status` has room for one.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status
        };
        let draw = || (0..2000).for_each(|_| drop(crng::session_key()));
        assert_eq!(status_of(draw), 0, "half a mebibyte");
        let status = status_of(|| _ = crng::reseed());
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSYS, "{status}");
    });
}

/// The first seed of a process's threads is made without the CPU's own numbers, so the next refill is a seed
/// with them, where there are any. An owned generator's first is like its others.
#[test]
fn the_first_seed_of_a_process_lasts_for_one_refill() {
    in_a_process("the_first_seed_of_a_process_lasts_for_one_refill", || {
        assert_ne!(crng::mode(), crng::Mode::Direct, "nothing is refilled there");
        let mut owned = crng::Crng::new().expect("there is entropy");
        while owned.health().refills() < 20 {
            owned.try_fill(&mut [0; 16]).expect("there is entropy");
        }
        assert_eq!(owned.health().reseeds(), 1, "an owned generator's first seed lasts");
        let told = || (crng::health().reseeds(), crng::health().refills());
        while told().1 < 2 {
            let _ = crng::u8();
            assert!(told().1 > 1 || told().0 == 1, "{:?}", told());
        }
        let seeds = if cfg!(target_arch = "x86_64") { 2 } else { 1 };
        assert_eq!(told(), (seeds, 2));
        while told().1 < 20 {
            let _ = crng::u128();
        }
        assert_eq!(told(), (seeds, 20), "later seeds last");
        std::thread::spawn(move || {
            while told().1 < 20 {
                let _ = crng::u128();
            }
            assert_eq!(told(), (1, 20), "those of other threads too");
        })
        .join()
        .expect("the thread ends well");
    });
}

#[test]
fn without_entropy_a_first_call_fails_and_leaves_zeros() {
    in_a_process("without_entropy_a_first_call_fails_and_leaves_zeros", || {
        for error in [libc::EPERM, libc::ENOSYS, libc::EAGAIN] {
            let thread = std::thread::spawn(move || {
                // For this thread alone.
                forbid_entropy(RETURN_ERROR | error as u32);
                let mut bytes = [1; 600];
                for len in [8, 32, 300, 600] {
                    bytes.fill(1);
                    assert_eq!(crng::try_fill(&mut bytes[..len]), Err(crng::Error::SOURCE));
                    assert_eq!(bytes[..len], [0; 600][..len], "error {error}, length {len}");
                }
                assert_eq!(crng::warm_up(), Err(crng::Error::SOURCE));

                bytes.fill(1);
                let mut keys = [SessionKey::from([1; 32])];
                let draws: [&mut dyn FnMut(); 4] = [
                    &mut || crng::fill(&mut bytes),
                    &mut || drop(crng::key::<32>()),
                    &mut || crng::fill_keys(&mut keys),
                    &mut || assert_ne!(crng::u64(), 0),
                ];
                for (i, draw) in draws.into_iter().enumerate() {
                    let end = catch_unwind(AssertUnwindSafe(draw)).expect_err("no entropy");
                    let said = end.downcast_ref::<String>().expect("a text with the error in it");
                    assert!(said.starts_with("no random bytes: "), "error {error}, {i}: {said}");
                }
                assert_eq!(
                    (&bytes[..], keys[0].as_ref()),
                    (&[0; 600][..], &[0; 32][..]),
                    "{error}"
                );
            });
            thread.join().expect("every call fails");
        }
    });
}

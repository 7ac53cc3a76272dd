//! Every way to fork, with every way to draw, at every filling of the buffer.

#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;

use keyspring::crng::{self, SessionKey};

/// Draws 32 bytes in some way. It allocates nothing: a raw clone may find the allocator locked.
type Draw = fn() -> [u8; 32];

fn last_of_a_fill<const LEN: usize>() -> [u8; 32] {
    let mut bytes = [0; LEN];
    crng::fill(&mut bytes);
    *bytes.last_chunk().expect("at least 32 bytes")
}

fn gather<const N: usize>(mut draw: impl FnMut() -> [u8; N]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for chunk in bytes.chunks_mut(N) {
        chunk.copy_from_slice(&draw());
    }
    bytes
}

const DRAWS: [(&str, Draw); 14] = [
    ("fill 32", last_of_a_fill::<32>),
    ("fill 300", last_of_a_fill::<300>),
    ("fill 2000", last_of_a_fill::<2000>),
    ("fill 70000", last_of_a_fill::<70_000>),
    ("session_key", || *crng::session_key().as_bytes().first_chunk().expect("of 256")),
    ("key", || *crng::key().as_bytes()),
    ("fill_keys", || {
        let mut keys = [const { SessionKey::zeroed() }; 40];
        crng::fill_keys(&mut keys);
        *keys[39].as_bytes()
    }),
    ("bytes", crng::bytes),
    ("u8", || gather(|| crng::u8().to_ne_bytes())),
    ("u16", || gather(|| crng::u16().to_ne_bytes())),
    ("u32", || gather(|| crng::u32().to_ne_bytes())),
    ("u64", || gather(|| crng::u64().to_ne_bytes())),
    ("below", || gather(|| crng::below(u64::MAX).to_ne_bytes())),
    ("range", || gather(|| crng::range::<u128>(..).to_ne_bytes())),
];

/// How many bytes of a new thread's first buffer, which has 480, are taken.
const TAKEN: [(&str, usize); 4] =
    [("full", 1), ("in the middle", 240), ("one byte", 479), ("empty", 480)];

const BEFORE: [(&str, fn()); 4] = [
    ("nothing", || {}),
    ("add_entropy", || crng::add_entropy(b"a handful")),
    ("reseed", || crng::reseed().expect("there is entropy")),
    ("warm_up", || crng::warm_up().expect("there is entropy")),
];

/// How a child comes to be: 0 in it.
type Fork = fn() -> libc::pid_t;

const FORKS: [(&str, Fork); 3] = [
    // SAFETY: the child draws, writes to its pipe and leaves by `_exit`.
    ("fork", || unsafe { libc::fork() }),
    ("clone", || {
        let none = 0_usize;
        // SAFETY: the same, without what the C library does at a fork. All pointers are null.
        let child =
            unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, none, none, none, none) };
        child as libc::pid_t
    }),
    ("fork of a fork", || {
        // SAFETY: as for "fork".
        match unsafe { libc::fork() } {
            0 => {
                let _ = crng::u8();
                // SAFETY: as above.
                let grandchild = unsafe { libc::fork() };
                if grandchild > 0 {
                    wait_for(grandchild);
                    // SAFETY: the child ends here, without running what is the parent's.
                    unsafe { libc::_exit(0) };
                }
                grandchild
            }
            child => child,
        }
    }),
];

fn wait_for(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` has room for a status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status:#x}");
}

/// The children's bytes and the parent's.
fn drawn_by_all(fork: Fork, children: usize, draw: Draw) -> Vec<[u8; 32]> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the descriptors were just made and belong to nobody else.
    let [mut reader, mut writer] = ends.map(|end| unsafe { File::from_raw_fd(end) });
    let pids: Vec<_> = (0..children)
        .map(|_| {
            let child = fork();
            assert!(child >= 0, "no child");
            if child == 0 {
                let written = writer.write_all(&draw());
                // SAFETY: the child ends here, without running what is the parent's.
                unsafe { libc::_exit(i32::from(written.is_err())) };
            }
            child
        })
        .collect();
    drop(writer);
    let mut all = vec![[0; 32]; children];
    reader.read_exact(all.as_flattened_mut()).expect("the children's bytes");
    pids.into_iter().for_each(wait_for);
    all.push(draw());
    all
}

#[track_caller]
fn assert_all_different(all: &[[u8; 32]], case: &str) {
    let distinct: HashSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "{case}: two processes have the same bytes");
    assert!(!distinct.contains(&[0; 32]), "{case}: zeros");
}

#[test]
fn no_process_has_the_bytes_of_another() {
    let mut cells = 0;
    for (fork_name, fork) in FORKS {
        for (draw_name, draw) in DRAWS {
            for (taken_name, taken) in TAKEN {
                for (before_name, before) in BEFORE {
                    let case = format!(
                        "{fork_name}, {draw_name}, buffer {taken_name}, {before_name} before"
                    );
                    let all = std::thread::spawn(move || {
                        crng::fill(&mut vec![0; taken]);
                        before();
                        drawn_by_all(fork, 2, draw)
                    });
                    assert_all_different(&all.join().expect("the thread ends well"), &case);
                    cells += 1;
                }
            }
        }
    }
    println!("fork matrix: {cells} cells");
    assert_eq!(cells, 3 * 14 * 4 * 4);
}

#[test]
fn sixty_four_children_all_differ() {
    for (name, fork) in FORKS {
        for (draw_name, draw) in [DRAWS[0], DRAWS[2], DRAWS[4], DRAWS[11]] {
            crng::warm_up().expect("there is entropy");
            assert_all_different(&drawn_by_all(fork, 64, draw), &format!("{name}, {draw_name}"));
        }
    }
}

/// A child of `vfork` shares its parent's memory while that sleeps: it goes on with the same stream.
#[test]
fn a_vfork_child_and_its_parent_draw_one_stream() {
    static mut DRAWN: [u8; 32] = [0; 32];
    let mut cells = 0;
    for (draw_name, draw) in DRAWS {
        for (name, taken) in TAKEN {
            let drawn = std::thread::spawn(move || {
                crng::fill(&mut vec![0; taken]);
                let drawn = &raw mut DRAWN;
                #[expect(deprecated, reason = "that is what is tested")]
                // SAFETY: the child draws into memory that was made for it, calls no function of the
                // C library that a child of `vfork` must not, and leaves by `_exit`.
                let child = unsafe { libc::vfork() };
                if child == 0 {
                    // SAFETY: the only test that uses the place, and the parent sleeps.
                    unsafe { drawn.write(draw()) };
                    // SAFETY: it ends only this process.
                    unsafe { libc::_exit(0) };
                }
                wait_for(child);
                // SAFETY: the child has ended.
                [unsafe { drawn.read() }, draw(), draw()]
            });
            let drawn = drawn.join().expect("the thread ends well");
            assert_all_different(&drawn, &format!("{draw_name}, buffer {name}"));
            cells += 1;
        }
    }
    println!("vfork: {cells} cells");
    assert_eq!(cells, 14 * 4);
}

/// The CPU's trap flag stops a call after each instruction, and the handler of one of the stops forks.
#[cfg(target_arch = "x86_64")]
mod stopped {
    use core::arch::asm;
    use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    use super::*;

    const TRAP_FLAG: i64 = 1 << 8;

    /// The stops before the one that forks.
    static STOPS: AtomicU32 = AtomicU32::new(0);

    /// What the fork returned; -1 before it.
    static FORKED: AtomicI32 = AtomicI32::new(-1);

    extern "C" fn at_a_stop(
        _signal: libc::c_int,
        _info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        if STOPS.fetch_sub(1, Ordering::Relaxed) == 0 {
            let context: *mut libc::ucontext_t = context.cast();
            // SAFETY: the kernel gives a handler the context of what it interrupts.
            unsafe { (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG };
            // SAFETY: `fork` may be called in a signal handler (POSIX, signal-safety).
            FORKED.store(unsafe { libc::fork() }, Ordering::Relaxed);
        }
    }

    /// Draws, and forks after so many instructions: what the parent and the child have then, and draw
    /// next. `None` if the call has not as many.
    fn forked_after(stops: u32, draw: Draw) -> Option<[[u8; 32]; 4]> {
        let mut ends = [0; 2];
        // SAFETY: `ends` has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: the descriptors were just made and belong to nobody else.
        let [mut reader, mut writer] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        STOPS.store(stops, Ordering::Relaxed);
        FORKED.store(-1, Ordering::Relaxed);
        // SAFETY: the flag has the handler called, which clears it; the stack is left as it was.
        unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
        let first = draw();
        // SAFETY: as above.
        unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
        let both = [first, draw()];
        match FORKED.load(Ordering::Relaxed) {
            -1 => None,
            0 => {
                let written = writer.write_all(both.as_flattened());
                // SAFETY: the child ends here, without running what is the parent's.
                unsafe { libc::_exit(i32::from(written.is_err())) };
            }
            child => {
                let mut childs = [[0; 32]; 2];
                reader.read_exact(childs.as_flattened_mut()).expect("the child's bytes");
                wait_for(child);
                Some([both[0], both[1], childs[0], childs[1]])
            }
        }
    }

    #[test]
    fn a_handler_that_forks_between_any_two_instructions() {
        // SAFETY: zeros are a value of it: no flags, no signals blocked.
        let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            at_a_stop;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler counts, forks and changes the context that it is given.
        let set =
            unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, core::ptr::null_mut()) };
        assert_eq!(set, 0);
        let (mut cells, mut forks, mut in_time) = (0, 0, 0);
        // A stop takes microseconds, and the longest draw would be stopped 100,000 times.
        for (draw_name, draw) in DRAWS.into_iter().filter(|(name, _)| *name != "fill 70000") {
            for (taken_name, taken) in TAKEN {
                for (before_name, before) in [BEFORE[0], BEFORE[2]] {
                    let mut stops = 1 + cells % 7;
                    let mut handed_out = false;
                    loop {
                        let all = std::thread::spawn(move || {
                            crng::fill(&mut vec![0; taken]);
                            before();
                            forked_after(stops, draw)
                        });
                        let Some(all) = all.join().expect("the thread ends well") else { break };
                        let case = format!(
                            "{draw_name}, buffer {taken_name}, {before_name} before, {stops} stops"
                        );
                        // What was handed out before the fork is both's; nothing else is.
                        let [parents, parents_next, childs, childs_next] = all;
                        handed_out |= parents == childs;
                        let all = [parents, parents_next, childs, childs_next];
                        assert_all_different(&all[usize::from(handed_out)..], &case);
                        forks += 1;
                        in_time += u32::from(!handed_out);
                        stops = 2 * stops + 17;
                    }
                    cells += 1;
                }
            }
        }
        println!(
            "forks in a handler: {cells} cells, {in_time} of {forks} forks before the end of a draw"
        );
        assert!(cells == 13 * 4 * 2 && in_time > 4 * cells, "{cells} cells, {in_time} forks");
    }
}

/// Keys that exist before a fork are the same after it: only what is drawn differs.
#[test]
fn the_test_sees_bytes_that_are_the_same() {
    static KEY: std::sync::OnceLock<[u8; 32]> = std::sync::OnceLock::new();
    KEY.get_or_init(crng::bytes);
    let all = drawn_by_all(FORKS[0].1, 2, || *KEY.get().expect("drawn before"));
    assert_eq!(all, [all[0]; 3]);
}

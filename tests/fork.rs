//! A fork never leaves two processes with the same bytes.

#![cfg(target_os = "linux")]

use core::sync::atomic::{AtomicI32, Ordering};
use core::time::Duration;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;

use keyspring::aead::{NonceSequence, Packet, Sealer};
use keyspring::crng::{self, Crng, SessionKey};

/// Forks, has the child compute 32 bytes and returns them.
fn in_a_child(compute: impl FnOnce() -> [u8; 32]) -> [u8; 32] {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: both descriptors were just made and belong to nobody else.
    let (mut reader, mut writer) =
        unsafe { (std::fs::File::from_raw_fd(ends[0]), std::fs::File::from_raw_fd(ends[1])) };
    // SAFETY: the child computes, writes to its pipe and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let written = writer.write_all(&compute());
        // SAFETY: the child ends here, without running what is the parent's.
        unsafe { libc::_exit(i32::from(written.is_err())) };
    }
    drop(writer);
    let mut bytes = [0; 32];
    reader.read_exact(&mut bytes).expect("the child's bytes");
    wait_for(child);
    bytes
}

fn wait_for(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` has room for a status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status:#x}");
}

#[track_caller]
fn assert_all_different(bytes: &[[u8; 32]], case: &str) {
    let mut sorted = bytes.to_vec();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), bytes.len(), "{case}: two processes have the same bytes");
    assert!(!sorted.contains(&[0; 32]), "{case}: zeros");
}

/// Repeats what is drawn until there are 32 bytes.
fn gather<const N: usize>(mut draw: impl FnMut() -> [u8; N]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for chunk in bytes.chunks_mut(N) {
        chunk.copy_from_slice(&draw()[..chunk.len()]);
    }
    bytes
}

fn first_of_a_fill<const LEN: usize>() -> [u8; 32] {
    let mut bytes = vec![0; LEN];
    crng::fill(&mut bytes);
    *bytes.last_chunk().expect("at least 32 bytes")
}

/// Each way to draw, before and after in the parent, and in each of eight children.
#[test]
fn every_free_function_differs_in_parent_and_children() {
    type Draw = fn() -> [u8; 32];
    let ways: [(&str, Draw); 12] = [
        ("fill 32", first_of_a_fill::<32>),
        ("fill 64", first_of_a_fill::<64>),
        ("fill 65", first_of_a_fill::<65>),
        ("fill 4 KiB", first_of_a_fill::<4096>),
        ("fill 1 MiB", first_of_a_fill::<{ 1 << 20 }>),
        ("session_key", || *crng::session_key().as_bytes().first_chunk().expect("of 256")),
        ("key", || *crng::key().as_bytes()),
        ("keys", || *crng::keys(2)[1].as_bytes()),
        ("u32", || gather(|| crng::u32().to_ne_bytes())),
        ("u64", || gather(|| crng::u64().to_ne_bytes())),
        ("below", || gather(|| crng::below(u64::MAX).to_ne_bytes())),
        ("range", || gather(|| crng::range::<u128>(..).to_ne_bytes())),
    ];
    for (name, draw) in ways {
        let mut all = vec![draw()];
        all.extend((0..8).map(|_| in_a_child(draw)));
        all.push(draw());
        assert_all_different(&all, name);
    }
}

/// An owned generator, with its buffer full, in the middle, almost empty and empty.
#[test]
fn an_owned_generator_is_reseeded_in_a_child() {
    for taken in [0, 1, 32, 500, 1055, 1056] {
        let mut rng = Crng::new().expect("there is entropy");
        rng.try_fill(&mut vec![0; taken]).expect("there is entropy");
        let mut draw = || *rng.try_key::<32>().expect("there is entropy").as_bytes();
        let mut all: Vec<[u8; 32]> = (0..8).map(|_| in_a_child(&mut draw)).collect();
        all.push(draw());
        assert_all_different(&all, &format!("{taken} bytes taken"));
    }
}

/// A child's child is neither its parent nor its grandparent.
#[test]
fn an_owned_generator_is_reseeded_in_a_grandchild() {
    let mut rng = Crng::new().expect("there is entropy");
    let mut first = [0; 32];
    rng.try_fill(&mut first).expect("there is entropy");
    let mut draw = || *rng.try_key::<32>().expect("there is entropy").as_bytes();
    let grandchild = in_a_child(|| in_a_child(&mut draw));
    let child = in_a_child(&mut draw);
    assert_all_different(&[first, grandchild, child, draw()], "generations");
}

/// The process that a signal handler forked: 0 in the child, -1 before.
static FORKED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn fork_once(_signal: libc::c_int) {
    if FORKED.load(Ordering::Relaxed) == -1 {
        // SAFETY: `fork` may be called in a signal handler (POSIX, signal-safety).
        FORKED.store(unsafe { libc::fork() }, Ordering::Relaxed);
    }
}

/// Forks by a signal handler while `draw` runs on this thread, and compares what both processes
/// have at its end. Returns whether the signal came in time.
fn forked_in_the_middle(draw: &mut dyn FnMut() -> [u8; 32], delay: Duration) -> bool {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: both descriptors were just made and belong to nobody else.
    let (mut reader, mut writer) =
        unsafe { (std::fs::File::from_raw_fd(ends[0]), std::fs::File::from_raw_fd(ends[1])) };
    FORKED.store(-1, Ordering::Relaxed);
    // SAFETY: the call has no preconditions.
    let this = unsafe { libc::pthread_self() };
    let bytes = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(delay);
            // SAFETY: the thread waits for this one, so it exists.
            unsafe { libc::pthread_kill(this, libc::SIGUSR1) };
        });
        let bytes = draw();
        let in_time = FORKED.load(Ordering::Relaxed) != -1;
        if FORKED.load(Ordering::Relaxed) == 0 {
            let written = writer.write_all(&bytes);
            // SAFETY: the child ends here, without running what is the parent's.
            unsafe { libc::_exit(i32::from(written.is_err())) };
        }
        in_time.then_some(bytes)
    });
    drop(writer);
    let child = FORKED.load(Ordering::Relaxed);
    match bytes {
        Some(parents) => {
            let mut childs = [0; 32];
            reader.read_exact(&mut childs).expect("the child's bytes");
            wait_for(child);
            assert_all_different(&[parents, childs], "a fork in the middle");
            true
        }
        None => {
            // The handler ran after `draw`: the child is at this very place too.
            if child == 0 {
                // SAFETY: as above.
                unsafe { libc::_exit(0) };
            }
            if child > 0 {
                wait_for(child);
            }
            false
        }
    }
}

#[test]
fn a_fork_in_the_middle_of_a_fill_starts_it_again_in_the_child() {
    let handler: extern "C" fn(libc::c_int) = fork_once;
    // SAFETY: the handler stores to an atomic and forks, both of which a handler may do.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let mut owned = Crng::new().expect("there is entropy");
    let mut buffer = vec![0; 8 << 20];
    let mut in_time = 0;
    for round in 0..16_u64 {
        let delay = Duration::from_micros(200 + 100 * round);
        let mut draw: Box<dyn FnMut() -> [u8; 32]> = if round % 2 == 0 {
            Box::new(|| {
                crng::fill(&mut buffer);
                *buffer.last_chunk().expect("32 bytes")
            })
        } else {
            Box::new(|| {
                owned.try_fill(&mut buffer).expect("there is entropy");
                *buffer.last_chunk().expect("32 bytes")
            })
        };
        in_time += usize::from(forked_in_the_middle(&mut *draw, delay));
    }
    println!("{in_time} of 16 forks came in the middle of a fill");
    assert!(in_time >= 4, "only {in_time} of 16 forks came in the middle of a fill");
}

/// Keys that exist before a fork are the same after it: only what is drawn differs.
#[test]
fn a_key_that_was_drawn_stays_the_same() {
    let key: SessionKey<32> = crng::key();
    assert_eq!(in_a_child(|| *key.as_bytes()), *key.as_bytes());
}

/// With keystream ahead and without: a child, and a child's child, can't seal; the parent goes on.
#[test]
fn a_sealer_ends_in_a_child_and_goes_on_in_its_parent() {
    for spent in [0, 1, 5] {
        let mut sealer = Sealer::new(&[7; 32], NonceSequence::CounterLittleEndian);
        for _ in 0..spent {
            sealer.seal_next(b"", &mut [0; 64]).expect("there are numbers left");
        }
        let mut ends = || {
            let mut message = *b"message";
            for _ in 0..2 {
                sealer.seal_next(b"", &mut message).expect_err("this is a child");
                sealer.skip_to(u64::MAX - 1).expect_err("this is a child");
                let packet =
                    Packet { nonce: [3; 12], aad: b"", in_out: &mut message, tag: [4; 16] };
                let mut packets = [packet];
                sealer.seal_next_batch(&mut packets).expect_err("this is a child");
                assert_eq!((packets[0].nonce, packets[0].tag), ([3; 12], [4; 16]));
            }
            assert_eq!((&message, sealer.next_number()), (b"message", u64::MAX));
            [1; 32]
        };
        assert_eq!(in_a_child(&mut ends), [1; 32], "{spent} spent: the child");
        assert_eq!(in_a_child(|| in_a_child(&mut ends)), [1; 32], "{spent} spent: its child");
        let (number, _) = sealer.seal_next(b"", &mut [0; 64]).expect("this is the parent");
        assert_eq!(number, spent);
    }
}

//! What is left in memory of what was handed out: a process looks through all of its own.

use core::hint::black_box;
use std::fs::read_to_string;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::string::String;
use std::sync::mpsc::channel;

use super::super::super::SessionKey;
use super::*;
use crate::chacha::backend::TABLE;
use crate::chacha::data::Keystream;
use crate::chacha::{Core, State};
use crate::cpu::{Row, Tuning, usable};

/// Kept masked, so that they are not found where they are looked for.
const MASK: u64 = 0x9e37_79b9_7f4a_7c15;

/// Secrets in pieces of 8 bytes.
#[derive(Default)]
struct Secrets(HashSet<u64>);

impl Secrets {
    /// Adds the pieces of a secret, and wipes it.
    fn add(&mut self, secret: &mut [u8]) {
        self.0.extend(secret.as_chunks().0.iter().map(|piece| u64::from_le_bytes(*piece) ^ MASK));
        secret.zeroize();
    }

    /// The addresses at which there is one, in all private memory that can be read.
    fn found(&self) -> Vec<(usize, String)> {
        let memory = File::open("/proc/self/mem").expect("Linux has it");
        let mut found = Vec::new();
        let mut scanned = 0;
        for mapping in read_to_string("/proc/self/maps").expect("Linux has it").lines() {
            let (range, rest) = mapping.split_once(' ').expect("a range, and more");
            let access = rest.as_bytes();
            let kernels = mapping.contains("[v");
            if kernels || access[0] != b'r' || access[3] != b'p' {
                continue;
            }
            let (start, end) = range.split_once('-').expect("two addresses");
            let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).expect("hex"));
            let mut bytes = std::vec![0; (1 << 16) + 7];
            for at in (start..end).step_by(1 << 16) {
                let len = bytes.len().min(end - at);
                let read = memory.read_at(&mut bytes[..len], at as u64);
                let bytes = &bytes[..read.expect("a readable mapping")];
                scanned += bytes.len();
                for (i, piece) in bytes.windows(8).enumerate() {
                    let piece = u64::from_le_bytes(piece.try_into().expect("8 bytes"));
                    if piece != 0 && self.0.contains(&(piece ^ MASK)) {
                        found.push((at + i, String::from(mapping)));
                    }
                }
            }
            bytes.zeroize();
        }
        std::println!("{} pieces looked for in {} KiB", self.0.len(), scanned >> 10);
        found
    }
}

/// Runs `child` in a process of its own: this test binary once more, with a variable set.
#[track_caller]
fn in_a_process(test: &str, child: impl FnOnce()) {
    const CHILD: &str = "CRNG_ERASURE_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let program = std::env::current_exe().expect("this program");
    let mut run = Command::new(program);
    run.args([std::format!("crng::thread::faults::erasure::{test}"), "--exact".into()]);
    let run = run.arg("--nocapture").env(CHILD, "1").output().expect("a child");
    let [out, errors] = [run.stdout, run.stderr].map(|told| String::from_utf8(told).unwrap());
    assert!(run.status.success(), "{}\n{errors}", run.status);
    assert!(out.contains("pieces looked for"), "the child has not run: {out}");
    std::println!("{out}");
}

/// Entropy that is known: a step of SplitMix64 for each word.
fn known_entropy(bytes: &mut [u8], number: &mut u64) {
    for word in bytes.as_chunks_mut::<8>().0 {
        *number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*number ^ (*number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        *word = (mixed ^ (mixed >> 27)).to_le_bytes();
    }
}

std::thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(1) };
}

/// Draws in every way that mints in place, with reseeds in between.
fn draw_everything() -> Secrets {
    let mut secrets = Secrets::default();
    SOURCE.set(|bytes| {
        let mut number = NUMBER.get();
        known_entropy(bytes, &mut number);
        NUMBER.set(number);
        Ok(())
    });
    let mut owned = Crng::builder().source(Source).build().expect("there is entropy");
    let mut bytes = std::vec![0; 100_000];
    let mut keys = [const { SessionKey::<256>::zeroed() }; 3];
    for round in 0..400 {
        for len in [8, 16, 24, 32, 40, 64, 100, 256, 1000, 1791, 1792, 5000] {
            fill(&mut bytes[..len]).expect("there is entropy");
            secrets.add(&mut bytes[..len]);
            // The key that the next refill erases.
            page().copy_key(bytes.first_chunk_mut().expect("32 bytes"));
            secrets.add(&mut bytes[..32]);
            owned.try_fill(&mut bytes[..len]).expect("there is entropy");
            secrets.add(&mut bytes[..len]);
        }
        fill_keys(SessionKey::as_mut_bytes_of_all(&mut keys)).expect("there is entropy");
        keys.iter_mut().for_each(|key| secrets.add(key.as_mut_bytes()));
        fill_array::<32>(bytes.first_chunk_mut().expect("32 bytes"), true).expect("entropy");
        secrets.add(&mut bytes[..32]);
        if round % 50 == 0 {
            reseed().expect("there is entropy");
            fill(&mut bytes).expect("there is entropy");
            secrets.add(&mut bytes);
        }
    }
    let mut number = 1;
    while number != NUMBER.get() {
        known_entropy(&mut bytes[..32], &mut number);
        secrets.add(&mut bytes[..32]);
    }
    // The last key is still in use.
    page().copy_key(bytes.first_chunk_mut().expect("32 bytes"));
    let mut in_use = Secrets::default();
    in_use.add(&mut bytes[..32]);
    secrets.0.retain(|piece| !in_use.0.contains(piece));
    secrets
}

#[test]
fn nothing_that_was_handed_out_is_left_in_memory() {
    in_a_process("nothing_that_was_handed_out_is_left_in_memory", || {
        let (to_main, from_thread) = channel();
        let (to_thread, from_main) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let secrets = draw_everything();
            // What the page will hand out next, and what lies on the heap: both must be found.
            let mut next = Secrets::default();
            let mut head = contents(page());
            next.add(&mut head[4096 - left()..][..16]);
            head.as_mut_slice().zeroize();
            let planted = std::vec![0x5a_u8; 16];
            let mut copy = planted.clone();
            next.add(&mut copy);
            to_main.send((secrets, next, page().as_ptr().addr(), planted)).expect("main waits");
            // The stack stays as the calls have left it.
            from_main.recv().expect("main says when");
        });
        let (secrets, next, page, planted) = from_thread.recv().expect("the thread has drawn");
        assert!(secrets.0.len() > 100_000, "{} pieces", secrets.0.len());
        let found = secrets.found();
        assert!(found.is_empty(), "{} places, the first: {:x?}", found.len(), found.first());
        let found = next.found();
        for place in [page, planted.as_ptr().addr()] {
            assert!(
                found.iter().any(|(at, _)| (place..place + 4096).contains(at)),
                "the control at {place:x} was not found: {found:x?}"
            );
        }
        to_thread.send(()).expect("the thread waits");
        thread.join().expect("the thread ends well");
    });
}

/// How far below the frame of its caller `code` changes the stack of a thread that is all of one byte
/// there.
fn depth_of(code: impl FnOnce() + Send + 'static) -> usize {
    const BELOW: usize = 1 << 16;
    const PAINT: u8 = 0xa5;

    #[inline(never)]
    fn paint() {
        black_box(&mut [PAINT; 2 * BELOW]);
    }

    #[inline(never)]
    fn call(code: impl FnOnce()) -> usize {
        let here = 0_u8;
        code();
        black_box(&raw const here).addr()
    }

    let thread = std::thread::Builder::new().stack_size(16 * BELOW).spawn(move || {
        let memory = File::open("/proc/self/mem").expect("Linux has it");
        let mut below = std::vec![0; BELOW];
        paint();
        let here = call(code);
        memory.read_exact_at(&mut below, (here - BELOW) as u64).expect("this thread's stack");
        BELOW - below.iter().position(|byte| *byte != PAINT).expect("a call")
    });
    thread.expect("a thread").join().expect("the thread ends well")
}

/// If a kernel's frames grow, this fails, whether or not they hold keystream at their far end.
#[test]
fn what_is_wiped_of_the_stack_is_more_than_any_kernel_uses() {
    let wiped = depth_of(direct::wipe_stack);
    let mut deepest = 0;
    for row in usable(TABLE) {
        for tuning in Tuning::ALL {
            let core = Core::on(row).tuned(tuning);
            let lengths = REFILLS.map(|blocks| 64 * blocks);
            for len in lengths.into_iter().chain((1..20_000).step_by(509)) {
                for led in [false, true] {
                    let depth = depth_of(move || {
                        let state = State::with_nonce_96(&[7; 32], &[0; 12], 0, 10);
                        let (mut lead, mut out) = ([0; 64], std::vec![0; len]);
                        core.run(&state, 0, led.then_some(&mut lead), Keystream(&mut out));
                    });
                    let case = std::format!("{} {}, {len} bytes", row.name(), tuning.name());
                    assert!(depth <= wiped, "{case}: {depth} of {wiped} bytes");
                    deepest = deepest.max(depth);
                }
            }
        }
    }
    std::println!("the deepest {deepest} of {wiped} bytes");
    assert!(deepest > 256, "{deepest} bytes: nothing was measured");
}

/// The kernel says of the mapping that a page lies in that it is wiped on a fork and not dumped.
#[test]
fn pages_stay_out_of_core_dumps() {
    fill(&mut [0; 16]).expect("there is entropy");
    let page = page().as_ptr().addr();
    let smaps = read_to_string("/proc/self/smaps").expect("Linux has it");
    let mut inside = false;
    for line in smaps.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        if let Some((start, end)) = range {
            let at = |at| usize::from_str_radix(at, 16).ok();
            if let (Some(start), Some(end)) = (at(start), at(end)) {
                inside = (start..end).contains(&page);
            }
        }
        if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            assert!([" wf", " dd"].iter().all(|flag| flags.contains(flag)), "{flags}");
            return;
        }
    }
    panic!("no mapping has the page");
}

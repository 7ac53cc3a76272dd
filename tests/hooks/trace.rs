//! Every instruction of a run, one at a time: none with a VEX or EVEX prefix outside a section.
//!
//! Under the trap flag each instruction of a thread ends in SIGTRAP, and the handler looks at the
//! next one. Looked at is what lies in this program's own text: the crate, this test and the
//! standard library, which is built for the baseline. The C library, whose memcpy uses AVX as it
//! likes, lies elsewhere. In 64-bit mode the bytes C4, C5 and 62 at an instruction's start, or
//! behind prefixes for segment and address size, are those prefixes and nothing else (Intel's
//! manual, volume 2, sections 2.3 and 2.7).

use core::cell::Cell;
use core::ops::Range;

use super::operations::operations;
use super::{SEEN, Usable, backends, start};

/// Bit 8 of the flags: trap after each instruction.
const TRAP_FLAG: i64 = 1 << 8;

/// The instructions that a thread ran.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    all: u64,
    /// Of them with a VEX or EVEX prefix: inside sections and outside.
    inside: u64,
    outside: u64,
}

/// What the handler is to do.
#[derive(Clone)]
struct Tracer {
    text: Range<usize>,
    /// Whether it believes that there are sections; if not, it must complain.
    believes: bool,
    ran: Ran,
}

thread_local! {
    /// Traces as long as there is one.
    static TRACER: Cell<Option<Tracer>> = const { Cell::new(None) };
}

#[test]
fn vector_instructions_run_inside_sections_alone() {
    let mut best = true;
    for (backend, _guard) in backends() {
        let has_avx = !["sse2", "scalar"].contains(&backend);

        // A length for one pass with a tail; the other is where sealing is fused. An instruction
        // takes 20 us under some hypervisors, so there are no more.
        let ran = trace(Usable::Always, true, || {
            if best {
                operations().for_each(|operation| drop((operation.run)(321)));
            }
            sealing(1350);
        });
        println!("{backend}: {ran:?}");
        assert_eq!(ran.outside, 0, "{backend}: {ran:?}");
        assert_eq!(ran.inside > 0, has_avx, "{backend}: {ran:?}");
        if !best {
            continue;
        }
        best = false;

        let ran = trace(Usable::Never, true, || sealing(1350));
        println!("{backend}, refused: {ran:?}");
        assert_eq!((ran.inside, ran.outside), (0, 0), "{backend}, refused: {ran:?}");

        let ran = trace(Usable::Always, false, || sealing(64));
        println!("{backend}, no section believed: {ran:?}");
        assert_eq!(ran.outside > 0, has_avx, "{backend}, no section believed: {ran:?}");
    }
}

fn sealing(len: usize) {
    let sealing = operations().find(|operation| operation.name == "ChaCha20Poly1305 in place");
    (sealing.expect("it is one of them").run)(len);
}

/// Runs `code` under the trap flag.
fn trace(usable: Usable, believes: bool, code: impl FnOnce()) -> Ran {
    handle_traps();
    start(usable);
    TRACER.set(Some(Tracer { text: own_text(), believes, ran: Ran::default() }));
    // SAFETY: the handler is in place.
    unsafe { libc::raise(libc::SIGTRAP) };
    code();
    TRACER.take().expect("it was set").ran
}

fn handle_traps() {
    // SAFETY: all zero is a value of it.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = on_trap as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler touches its arguments and thread-locals without a destructor.
    assert_eq!(unsafe { libc::sigaction(libc::SIGTRAP, &action, core::ptr::null_mut()) }, 0);
}

extern "C" fn on_trap(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the third argument of such a handler points to the context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let flags = &mut registers[libc::REG_EFL as usize];
    let Some(mut tracer) = TRACER.take() else {
        *flags &= !TRAP_FLAG;
        return;
    };
    *flags |= TRAP_FLAG;
    let at = registers[libc::REG_RIP as usize] as usize;
    tracer.ran.all += 1;
    if tracer.text.contains(&at) && is_vex_or_evex(at) {
        let seen = SEEN.get();
        if tracer.believes && seen.begun > seen.ended {
            tracer.ran.inside += 1;
        } else {
            tracer.ran.outside += 1;
        }
    }
    TRACER.set(Some(tracer));
}

/// Whether the instruction at an address of our own text has such a prefix.
fn is_vex_or_evex(at: usize) -> bool {
    const SEGMENT_OR_ADDRESS_SIZE: [u8; 7] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67];
    // SAFETY: the text is mapped, and nobody writes to it.
    let byte = |i: usize| unsafe { *((at + i) as *const u8) };
    let opcode = (0..).map(byte).find(|byte| !SEGMENT_OR_ADDRESS_SIZE.contains(byte));
    matches!(opcode, Some(0xc4 | 0xc5 | 0x62))
}

/// Where this program's own code lies.
fn own_text() -> Range<usize> {
    let program = std::env::current_exe().expect("it has a name");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("it can be read");
    let text = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(" r-xp ")?;
        rest.ends_with(program.to_str()?).then(|| range.split_once('-'))?
    });
    let (start, end) = text.expect("the program has code");
    let address = |hex| usize::from_str_radix(hex, 16).expect("an address");
    address(start)..address(end)
}

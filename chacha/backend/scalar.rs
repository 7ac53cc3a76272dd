//! General-purpose registers alone: runs everywhere, and is what every other row is checked
//! against.

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm)))]
use core::arch::asm;
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm))))]
use core::hint;

use zeroize::Zeroize;

use super::{Backend, Kernels};
use crate::chacha::batch::{Blocks, Lanes};
use crate::chacha::data::{Data, Keystream, Mode, mode};
use crate::chacha::{State, shapes};
use crate::cpu::Head;

/// Without vectors a block costs the same in any company, so nothing is gained by a longer pass.
pub(super) const ROW: Backend = Backend {
    head: Head { name: "scalar", level: 0, usable: || true },
    kernels: KERNELS,
    on_zen5: KERNELS,
};

const KERNELS: Kernels = Kernels {
    longest_pass: 1,
    single_block_goes_scalar: false,
    weaves_a_lead: false,
    in_place: run::<mode::InPlace>,
    apart: run::<mode::Apart>,
    keystream: run::<mode::Keystream>,
    lanes,
};

fn run<M: Mode>(state: &State, mut first: u64, lead: Option<&mut [u8; 64]>, mut data: M::Data<'_>) {
    if let Some(lead) = lead {
        put_block(state, first, Keystream(lead));
        first = first.wrapping_add(1);
    }
    let mut at = 0;
    while data.len() - at >= 64 {
        put_block(state, first, data.window(at, 64));
        first = first.wrapping_add(1);
        at += 64;
    }
    let rest = data.len() - at;
    if rest > 0 {
        let mut keystream = [0; 64];
        put_block(state, first, Keystream(&mut keystream));
        data.window(at, rest).put(&keystream[..rest]);
        keystream.as_mut_slice().zeroize();
    }
}

fn lanes(lanes: Lanes<'_>, blocks: &mut Blocks) {
    for (i, out) in blocks[..lanes.count].iter_mut().enumerate() {
        put_block(&lanes.state(i), 0, Keystream(out));
    }
}

/// Puts a block of keystream (RFC 8439, section 2.3) to 64 bytes.
#[inline(always)]
fn put_block<D: Data>(state: &State, number: u64, mut data: D) {
    shapes::record("scalar", 1);
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm)))]
    by_hand::put_block(state, number, &mut data);
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm))))]
    {
        let mut words = state.words(number);
        double_rounds(&mut words, state.double_rounds);
        // Loaded again: kept through the rounds, the key would be spilled to the stack.
        let start = hint::black_box(state).words(number);
        let mut keystream = [0; 64];
        for i in 0..16 {
            let word = words[i].wrapping_add(start[i]);
            keystream[4 * i..][..4].copy_from_slice(&word.to_le_bytes());
        }
        data.put(&keystream);
        keystream.as_mut_slice().zeroize();
        words.as_mut_slice().zeroize();
    }
}

/// A word in a register of its own: LLVM would make one load of two neighbours.
#[inline(always)]
#[cfg_attr(
    not(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm))),
    allow(unused_mut)
)]
pub(in crate::chacha) fn alone(mut word: u32) -> u32 {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm)))]
    // SAFETY: there is no instruction; the register goes in and comes out.
    unsafe {
        asm!("/* {0:e} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// The rounds without the feed-forward: a block's core, and HChaCha's.
#[inline(always)]
pub(in crate::chacha) fn double_rounds(x: &mut [u32; 16], count: u32) {
    for _ in 0..count {
        columns(x);
        diagonals(x);
    }
}

#[inline(always)]
pub(in crate::chacha) fn columns(x: &mut [u32; 16]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 1, 5, 9, 13);
    quarter_round(x, 2, 6, 10, 14);
    quarter_round(x, 3, 7, 11, 15);
}

#[inline(always)]
pub(in crate::chacha) fn diagonals(x: &mut [u32; 16]) {
    quarter_round(x, 0, 5, 10, 15);
    quarter_round(x, 1, 6, 11, 12);
    quarter_round(x, 2, 7, 8, 13);
    quarter_round(x, 3, 4, 9, 14);
}

/// RFC 8439, section 2.1.
#[inline(always)]
pub(in crate::chacha) fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

/// The block function in x86-64's registers, as the compiler does not write it.
///
/// A single block takes as long as its longest chain of steps, 12 for a quarter round, so nothing
/// but the step before may hold one up. Of the 16 words 14 have a register. Row c has two, since a
/// quarter round wants one word of it; the other two are stored, and loaded half a round before they
/// are wanted. Around the rounds the stores count, of which few start in a cycle, so words go out in
/// pairs.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(keyspring_no_asm)))]
mod by_hand {
    use core::arch::asm;
    use core::mem::{MaybeUninit, offset_of};

    use crate::chacha::data::Data;
    use crate::chacha::{CONSTANTS, State};

    /// What has no register meanwhile.
    #[repr(C)]
    struct Frame {
        state: *const State,
        counter: u64,
        source: *const [u8; 64],
        destination: *mut [u8; 64],
        double_rounds_left: u32,
        rest: MaybeUninit<Rest>,
    }

    #[repr(C)]
    struct Rest {
        /// Wiped in the end, since a word before the feed-forward and the same word of the keystream
        /// give one of the key.
        row_c: [u32; 4],
        /// Words that wait for their turn to go out; wiped too.
        done: [u32; 4],
        /// Registers that the compiler does not lend.
        rbx: u64,
        rbp: u64,
    }

    /// `to += from`, then `word ^= to`, turned left by `by`.
    macro_rules! step {
        ($to:literal += $from:literal, $word:literal by $by:literal) => {
            concat! {
                "add ", $to, ", ", $from, "\n",
                "xor ", $word, ", ", $to, "\n",
                "rol ", $word, ", ", $by, "\n",
            }
        };
    }

    /// Two quarter rounds (RFC 8439, section 2.1) side by side.
    macro_rules! quarter_rounds {
        (
            $a:literal $b:literal $c:literal $d:literal,
            $e:literal $f:literal $g:literal $h:literal
        ) => {
            concat! {
                step!($a += $b, $d by 16), step!($e += $f, $h by 16),
                step!($c += $d, $b by 12), step!($g += $h, $f by 12),
                step!($a += $b, $d by 8), step!($e += $f, $h by 8),
                step!($c += $d, $b by 7), step!($g += $h, $f by 7),
            }
        };
    }

    /// Puts two neighbouring words to the bytes from `at` on; the upper halves of their registers
    /// are zero.
    macro_rules! put {
        ($low:literal $high:literal to $at:literal) => {
            concat! {
                "shl ", $high, ", 32\n",
                "or ", $low, ", ", $high, "\n",
                "xor ", $low, ", [rbx + ", $at, "]\n",
                "mov [rcx + ", $at, "], ", $low, "\n",
            }
        };
    }

    #[inline(always)]
    pub(super) fn put_block<D: Data>(state: &State, number: u64, data: &mut D) {
        let (source, destination) = data.as_block();
        let counter = state.counter.wrapping_add(number);
        let mut frame = Frame {
            state,
            counter,
            source,
            destination,
            double_rounds_left: state.double_rounds,
            rest: MaybeUninit::uninit(),
        };
        // SAFETY: reads the state and the source, writes the frame and the destination, and gives
        // back the registers that are saved in the frame. The source is the destination or apart from it,
        // and no state has fewer than four double rounds (`State::new`).
        unsafe {
            asm!(
                "mov [r15 + {rbx}], rbx",
                "mov [r15 + {rbp}], rbp",
                "mov rcx, [rax + {key} + 24]",
                "mov [r15 + {row_c} + 8], rcx",
                "mov esi, [rax + {key}]",
                "mov edi, [rax + {key} + 4]",
                "mov ebp, [rax + {key} + 8]",
                "mov r8d, [rax + {key} + 12]",
                "mov r9d, [rax + {key} + 16]",
                "mov r10d, [rax + {key} + 20]",
                "mov r12, r11",
                "shr r12, 32",
                "mov r11d, r11d",
                "mov r13d, [rax + {nonce}]",
                "mov r14d, [rax + {nonce} + 4]",
                "mov eax, {c0}",
                "mov ebx, {c1}",
                "mov ecx, {c2}",
                "mov edx, {c3}",
                ".p2align 5",
                "2:",
                quarter_rounds!("eax" "esi" "r9d" "r11d", "ebx" "edi" "r10d" "r12d"),
                "mov [r15 + {row_c}], r9d",
                "mov [r15 + {row_c} + 4], r10d",
                "mov r9d, [r15 + {row_c} + 8]",
                "mov r10d, [r15 + {row_c} + 12]",
                quarter_rounds!("ecx" "ebp" "r9d" "r13d", "edx" "r8d" "r10d" "r14d"),
                quarter_rounds!("eax" "edi" "r9d" "r14d", "ebx" "ebp" "r10d" "r11d"),
                "mov [r15 + {row_c} + 8], r9d",
                "mov [r15 + {row_c} + 12], r10d",
                "mov r9d, [r15 + {row_c}]",
                "mov r10d, [r15 + {row_c} + 4]",
                quarter_rounds!("ecx" "r8d" "r9d" "r12d", "edx" "esi" "r10d" "r13d"),
                "dec dword ptr [r15 + {left}]",
                "jnz 2b",
                "add eax, {c0}",
                "mov [r15 + {done}], eax",
                "add ebx, {c1}",
                "mov [r15 + {done} + 4], ebx",
                "add ecx, {c2}",
                "mov [r15 + {done} + 8], ecx",
                "mov rax, [r15 + {state}]",
                "mov rbx, [r15 + {source}]",
                "mov rcx, [r15 + {destination}]",
                "add edx, {c3}",
                "mov [r15 + {done} + 12], edx",
                "add esi, [rax + {key}]",
                "add edi, [rax + {key} + 4]",
                put!("rsi" "rdi" to "16"),
                "add ebp, [rax + {key} + 8]",
                "add r8d, [rax + {key} + 12]",
                put!("rbp" "r8" to "24"),
                "add r9d, [rax + {key} + 16]",
                "add r10d, [rax + {key} + 20]",
                put!("r9" "r10" to "32"),
                "mov r9d, [r15 + {row_c} + 8]",
                "mov r10d, [r15 + {row_c} + 12]",
                "add r9d, [rax + {key} + 24]",
                "add r10d, [rax + {key} + 28]",
                put!("r9" "r10" to "40"),
                "add r11d, [r15 + {counter}]",
                "add r12d, [r15 + {counter} + 4]",
                put!("r11" "r12" to "48"),
                "add r13d, [rax + {nonce}]",
                "add r14d, [rax + {nonce} + 4]",
                put!("r13" "r14" to "56"),
                "mov esi, [r15 + {done}]",
                "mov edi, [r15 + {done} + 4]",
                put!("rsi" "rdi" to "0"),
                "mov esi, [r15 + {done} + 8]",
                "mov edi, [r15 + {done} + 12]",
                put!("rsi" "rdi" to "8"),
                "xor eax, eax",
                "mov [r15 + {row_c}], rax",
                "mov [r15 + {row_c} + 8], rax",
                "mov [r15 + {done}], rax",
                "mov [r15 + {done} + 8], rax",
                "mov rbx, [r15 + {rbx}]",
                "mov rbp, [r15 + {rbp}]",
                state = const offset_of!(Frame, state),
                counter = const offset_of!(Frame, counter),
                source = const offset_of!(Frame, source),
                destination = const offset_of!(Frame, destination),
                left = const offset_of!(Frame, double_rounds_left),
                row_c = const offset_of!(Frame, rest) + offset_of!(Rest, row_c),
                done = const offset_of!(Frame, rest) + offset_of!(Rest, done),
                rbx = const offset_of!(Frame, rest) + offset_of!(Rest, rbx),
                rbp = const offset_of!(Frame, rest) + offset_of!(Rest, rbp),
                key = const offset_of!(State, key),
                nonce = const offset_of!(State, nonce),
                c0 = const CONSTANTS[0],
                c1 = const CONSTANTS[1],
                c2 = const CONSTANTS[2],
                c3 = const CONSTANTS[3],
                in("r15") &raw mut frame,
                inout("rax") &raw const *state => _, inout("r11") counter => _,
                out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _,
                out("r8") _, out("r9") _, out("r10") _, out("r12") _,
                out("r13") _, out("r14") _,
                options(nostack),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8439, section 2.1.1.
    #[test]
    fn quarter_round_matches_the_rfc() {
        let mut x = [0; 16];
        (x[0], x[1], x[2], x[3]) = (0x1111_1111, 0x0102_0304, 0x9b8d_6f43, 0x0123_4567);
        quarter_round(&mut x, 0, 1, 2, 3);
        assert_eq!(x[..4], [0xea2a_92f4, 0xcb1c_f8ce, 0x4581_472e, 0x5881_c4bb]);
    }
}

//! What this program needs of a system: a beginning, an end, a line of text, random numbers, and the
//! functions that the compiler calls for copies. Here it is Linux on x86-64; on a board, all of the
//! unsafe code of a port is in a file like this one.

use core::arch::{asm, naked_asm};
use core::panic::PanicInfo;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("write the like of this file for your system");

const WRITE: usize = 1;
const EXIT: usize = 60;
const GETRANDOM: usize = 318;

/// Where the kernel jumps to. The stack pointer is a multiple of 16, and the call keeps it as the
/// calling convention has it.
// SAFETY: the linker asks for this name, and nothing else has it.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn _start() -> ! {
    naked_asm!("xor ebp, ebp", "call {start}", "ud2", start = sym start)
}

extern "C" fn start() -> ! {
    exit(crate::main())
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    say(info.message().as_str().unwrap_or("a panic"));
    exit(101)
}

pub fn exit(code: u8) -> ! {
    // SAFETY: the call touches no memory.
    unsafe { call(EXIT, [code.into(), 0, 0]) };
    unreachable!()
}

/// Writes a line to standard output.
pub fn say(line: &str) {
    for text in [line, "\n"] {
        // SAFETY: the call reads as many bytes there as there are.
        unsafe { call(WRITE, [1, text.as_ptr() as usize, text.len()]) };
    }
}

/// Fills `dst` with random bytes, or says that it did not.
pub fn random(dst: &mut [u8]) -> bool {
    // SAFETY: the call writes at most as many bytes there as there is room for.
    unsafe { call(GETRANDOM, [dst.as_mut_ptr() as usize, dst.len(), 0]) == dst.len() as isize }
}

/// # Safety
///
/// What the call does to memory is the caller's to answer for.
unsafe fn call(number: usize, arguments: [usize; 3]) -> isize {
    let result;
    let [first, second, third] = arguments;
    // SAFETY: Linux keeps all registers but these.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result
}

// The compiler calls these by name, and a C library has them elsewhere. In assembly, or it would
// find each loop to be a call of itself.

/// # Safety
///
/// As C has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(dst: *mut u8, src: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "rep movsb",
            inout("rdi") dst => _, inout("rsi") src => _, inout("rcx") len => _,
            options(nostack, preserves_flags),
        );
    }
    dst
}

/// # Safety
///
/// As C has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(dst: *mut u8, src: *const u8, len: usize) -> *mut u8 {
    if (dst as usize).wrapping_sub(src as usize) >= len {
        // SAFETY: forwards, no byte is written before it is read.
        return unsafe { memcpy(dst, src, len) };
    }
    // SAFETY: the caller's promise; backwards, from the last byte on.
    unsafe {
        asm!(
            "std", "rep movsb", "cld",
            inout("rdi") dst.add(len - 1) => _,
            inout("rsi") src.add(len - 1) => _,
            inout("rcx") len => _,
            options(nostack),
        );
    }
    dst
}

/// # Safety
///
/// As C has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(dst: *mut u8, byte: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "rep stosb",
            inout("rdi") dst => _, in("al") byte as u8, inout("rcx") len => _,
            options(nostack, preserves_flags),
        );
    }
    dst
}

/// # Safety
///
/// As C has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    for i in 0..len {
        // SAFETY: the caller's promise.
        let [a, b] = unsafe { [one.add(i).read_volatile(), other.add(i).read_volatile()] };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
///
/// As C has it.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { memcmp(one, other, len) }
}

//! Who follows the secrets: Valgrind's memcheck, to which a secret is memory that was never
//! written, or MemorySanitizer, to which it is poisoned. Both report a branch or an index that
//! depends on it.

#[cfg(not(msan))]
use core::arch::asm;
use core::ffi::c_void;

/// A request to Valgrind: a sequence of instructions that does nothing anywhere else.
#[cfg(not(msan))]
#[inline(never)]
fn request(code: usize, address: *const c_void, len: usize) -> usize {
    let arguments = [code, address as usize, len, 0, 0, 0];
    let mut result = 0_usize;
    // SAFETY: the rotations add up to 128 bits, and nothing else but `rdx` is written.
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            inout("rdx") result, in("rax") arguments.as_ptr(), options(nostack),
        );
    }
    result
}

#[cfg(not(msan))]
mod requests {
    pub const RUNNING_ON_VALGRIND: usize = 0x1001;
    pub const COUNT_ERRORS: usize = 0x1201;
    pub const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
    pub const MAKE_MEM_DEFINED: usize = 0x4d43_0002;
}

#[cfg(msan)]
unsafe extern "C" {
    fn __msan_poison(address: *const c_void, len: usize);
    fn __msan_unpoison(address: *const c_void, len: usize);
    fn __msan_test_shadow(address: *const c_void, len: usize) -> isize;
}

/// Makes a value secret.
pub fn secret<T: ?Sized>(value: &T) {
    let (address, len) = ((&raw const *value).cast(), size_of_val(value));
    #[cfg(not(msan))]
    request(requests::MAKE_MEM_UNDEFINED, address, len);
    #[cfg(msan)]
    // SAFETY: it writes to the shadow of a value, not to the value.
    unsafe {
        __msan_poison(address, len);
    }
}

/// Makes a value public again.
pub fn public<T: ?Sized>(value: &T) {
    let (address, len) = ((&raw const *value).cast(), size_of_val(value));
    #[cfg(not(msan))]
    request(requests::MAKE_MEM_DEFINED, address, len);
    #[cfg(msan)]
    // SAFETY: as above.
    unsafe {
        __msan_unpoison(address, len);
    }
}

/// Whether anybody is watching.
pub fn is_watched() -> bool {
    #[cfg(not(msan))]
    return request(requests::RUNNING_ON_VALGRIND, core::ptr::null(), 0) != 0;
    #[cfg(msan)]
    {
        let byte = core::hint::black_box(7_u8);
        secret(&byte);
        // SAFETY: it reads the shadow of a value.
        let found = unsafe { __msan_test_shadow((&raw const byte).cast(), 1) };
        public(&byte);
        found == 0
    }
}

/// How many uses of secrets have been reported up to here.
#[cfg(not(msan))]
pub fn reports() -> usize {
    request(requests::COUNT_ERRORS, core::ptr::null(), 0)
}

/// How many uses of secrets have been reported up to here: MemorySanitizer calls back for each.
#[cfg(msan)]
pub fn reports() -> usize {
    REPORTS.load(core::sync::atomic::Ordering::Relaxed)
}

#[cfg(msan)]
static REPORTS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

/// MemorySanitizer hands each piece of a report to this before it prints it. The text lies in memory
/// that counts as never written, so this function is not watched, nor may it call one that is.
#[cfg(msan)]
#[unsafe(no_mangle)]
#[sanitize(memory = "off")]
extern "C" fn __sanitizer_on_print(text: *const core::ffi::c_char) {
    let head = b"WARNING: MemorySanitizer: use-of-uninitialized-value".as_ptr();
    let (mut at, mut matched) = (0_usize, 0_usize);
    loop {
        // SAFETY: the runtime gives a string that ends with a zero, and the loop ends there.
        let byte = unsafe { *text.cast::<u8>().wrapping_add(at) };
        // SAFETY: fewer bytes than the head has are matched.
        if byte == unsafe { *head.wrapping_add(matched) } {
            matched += 1;
        } else {
            matched = 0;
        }
        if matched == 52 {
            REPORTS.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
            matched = 0;
        }
        if byte == 0 {
            break;
        }
        at += 1;
    }
}

//! The kernel: getrandom as a system call, and as the function that newer kernels map into each
//! process (the vDSO's).

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::null_mut;

use super::{Peer, Source};
use crate::traits::Random;

/// The operating system.
pub fn peer() -> Peer {
    let mut random = vec![Source {
        name: "getrandom",
        about: "system call; the kernel's ChaCha20, 20 rounds, keys erased",
        random: Box::new(SystemCall),
    }];
    let vdso = Vdso::new();
    let lacking = vdso.is_none().then_some("this kernel has no __vdso_getrandom");
    random.extend(vdso.map(|vdso| Source {
        name: "vDSO getrandom",
        about: "in user space; ChaCha20, 20 rounds, keys erased",
        random: Box::new(vdso) as _,
    }));
    Peer { version: kernel_release(), random, lacking, ..Peer::default() }
}

fn kernel_release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".into(), |release| release.trim().into())
}

struct SystemCall;

impl Random for SystemCall {
    fn fill(&mut self, dst: &mut [u8]) {
        let mut filled = 0;
        while filled < dst.len() {
            let rest = &mut dst[filled..];
            // SAFETY: writes at most `rest.len()` bytes.
            let got =
                unsafe { libc::syscall(libc::SYS_getrandom, rest.as_mut_ptr(), rest.len(), 0_i32) };
            filled += usize::try_from(got).expect("the kernel's generator works");
        }
    }
}

/// `__vdso_getrandom`: buffer, length, flags, state, size of the state.
type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint, *mut c_void, usize) -> isize;

/// What the function asks of the memory that it keeps its state in (the kernel's
/// `struct vgetrandom_opaque_params`).
#[repr(C)]
#[derive(Default)]
struct StateParameters {
    size: u32,
    protection: u32,
    flags: u32,
    reserved: [u32; 13],
}

/// The vDSO's getrandom and its state, which lives as long as the program.
struct Vdso {
    function: GetRandom,
    state: *mut c_void,
    size: usize,
}

impl Vdso {
    fn new() -> Option<Self> {
        // SAFETY: both calls take C strings; the vDSO is always loaded and is never unloaded.
        let symbol = unsafe {
            let vdso =
                libc::dlopen(c"linux-vdso.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if vdso.is_null() {
                null_mut()
            } else {
                libc::dlsym(vdso, c"__vdso_getrandom".as_ptr())
            }
        };
        if symbol.is_null() {
            return None;
        }
        // SAFETY: the symbol of this name has this type (Linux, lib/vdso/getrandom.c).
        let function = unsafe { core::mem::transmute::<*mut c_void, GetRandom>(symbol) };

        let mut wanted = StateParameters::default();
        // SAFETY: the largest size with an empty buffer asks for the parameters alone.
        let error = unsafe { function(null_mut(), 0, 0, (&raw mut wanted).cast(), usize::MAX) };
        if error != 0 {
            return None;
        }
        let size = wanted.size as usize;
        // SAFETY: an anonymous mapping of the kernel's own choice.
        let state = unsafe {
            libc::mmap(null_mut(), size, wanted.protection as c_int, wanted.flags as c_int, -1, 0)
        };
        (state != libc::MAP_FAILED).then_some(Self { function, state, size })
    }
}

impl Random for Vdso {
    fn fill(&mut self, dst: &mut [u8]) {
        let mut filled = 0;
        while filled < dst.len() {
            let rest = &mut dst[filled..];
            // SAFETY: writes at most `rest.len()` bytes; the state is this thread's alone.
            let got = unsafe {
                (self.function)(rest.as_mut_ptr().cast(), rest.len(), 0, self.state, self.size)
            };
            filled += usize::try_from(got).expect("the kernel's generator works");
        }
    }
}

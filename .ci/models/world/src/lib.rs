//! What the library's own files take for `core`, `std` and `libc` where loom runs them: the real ones,
//! but for all that threads share. There, atomics are loom's; memory that is mapped knows who mapped and
//! who wrote it; a thread-local is one of loom's threads; and each run of a model starts anew.
//!
//! The files are compiled as they are: they name `core::sync::atomic`, and get [`sync::atomic`].

pub use std::*;

mod kernel;
mod run;

pub use self::kernel::*;
pub use self::run::{LocalKey, end_of_thread, explore};

/// `std::thread_local!`, as the library uses it.
#[macro_export]
macro_rules! thread_local {
    (static $name:ident: $type:ty = const $value:block;) => {
        static $name: $crate::LocalKey<$type> = $crate::LocalKey::new(|| $value);
    };
}

/// `core::ptr`, with an eye on mapped memory.
pub mod ptr {
    pub use std::ptr::*;

    use crate::run::touch;

    /// # Safety
    ///
    /// As in `core`.
    pub unsafe fn copy_nonoverlapping<T>(from: *const T, to: *mut T, count: usize) {
        touch(from.addr(), false);
        touch(to.addr(), true);
        // SAFETY: as the caller promises.
        unsafe { std::ptr::copy_nonoverlapping(from, to, count) }
    }

    /// # Safety
    ///
    /// As in `core`.
    pub unsafe fn write_bytes<T>(to: *mut T, byte: u8, count: usize) {
        touch(to.addr(), true);
        // SAFETY: as the caller promises.
        unsafe { std::ptr::write_bytes(to, byte, count) }
    }

    /// # Safety
    ///
    /// As in `core`.
    pub unsafe fn read_volatile<T>(from: *const T) -> T {
        touch(from.addr(), false);
        // SAFETY: as the caller promises.
        unsafe { std::ptr::read_volatile(from) }
    }

    /// # Safety
    ///
    /// As in `core`.
    pub unsafe fn write_volatile<T>(to: *mut T, value: T) {
        touch(to.addr(), true);
        // SAFETY: as the caller promises.
        unsafe { std::ptr::write_volatile(to, value) }
    }
}

/// `core::sync`, with loom's atomics.
pub mod sync {
    pub use std::sync::*;

    pub mod atomic {
        use std::marker::PhantomData;

        pub use loom::sync::atomic::fence;
        pub use std::sync::atomic::{Ordering, compiler_fence};

        use crate::run::atomic;

        pub type AtomicBool = Atomic<bool>;
        pub type AtomicU8 = Atomic<u8>;
        pub type AtomicU32 = Atomic<u32>;
        pub type AtomicU64 = Atomic<u64>;
        pub type AtomicPtr<T> = Atomic<*mut T>;

        /// Only its place and its first value: the rest is an atomic of loom's, one for each place and
        /// run. Zeros are one that starts with 0.
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct Atomic<T> {
            first: u64,
            of: PhantomData<T>,
        }

        // SAFETY: it is never written to.
        unsafe impl<T> Sync for Atomic<T> {}
        // SAFETY: the same.
        unsafe impl<T> Send for Atomic<T> {}

        /// What an atomic holds, in 64 bits.
        pub trait Value: Copy {
            fn into_bits(self) -> u64;
            fn from_bits(bits: u64) -> Self;
        }

        macro_rules! values {
            ($($type:ty: |$bits:ident| $from:expr;)*) => {$(
                impl Value for $type {
                    fn into_bits(self) -> u64 {
                        self as u64
                    }

                    fn from_bits($bits: u64) -> Self {
                        $from
                    }
                }

                impl Atomic<$type> {
                    pub const fn new(value: $type) -> Self {
                        Self { first: value as u64, of: PhantomData }
                    }
                }
            )*};
        }

        values! {
            bool: |bits| bits != 0;
            u8: |bits| bits as u8;
            u32: |bits| bits as u32;
            u64: |bits| bits;
        }

        impl<T> Value for *mut T {
            fn into_bits(self) -> u64 {
                self as u64
            }

            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        }

        impl<T> Atomic<*mut T> {
            /// The library starts them all with null, and a constant can't ask for an address.
            pub const fn new(_null: *mut T) -> Self {
                Self { first: 0, of: PhantomData }
            }
        }

        impl<T: Value> Atomic<T> {
            // Loom's start with 0, so what is in them is the difference to the first value.
            fn diff(&self, value: T) -> u64 {
                value.into_bits().wrapping_sub(self.first)
            }

            fn value(&self, diff: u64) -> T {
                T::from_bits(diff.wrapping_add(self.first))
            }

            fn loom(&self) -> std::rc::Rc<loom::sync::atomic::AtomicU64> {
                atomic(std::ptr::from_ref(self).addr())
            }

            pub fn load(&self, order: Ordering) -> T {
                self.value(self.loom().load(order))
            }

            pub fn store(&self, value: T, order: Ordering) {
                self.loom().store(self.diff(value), order);
            }

            pub fn swap(&self, value: T, order: Ordering) -> T {
                self.value(self.loom().swap(self.diff(value), order))
            }

            pub fn compare_exchange(
                &self,
                current: T,
                new: T,
                success: Ordering,
                failure: Ordering,
            ) -> Result<T, T> {
                let [current, new] = [current, new].map(|value| self.diff(value));
                self.loom()
                    .compare_exchange(current, new, success, failure)
                    .map(|diff| self.value(diff))
                    .map_err(|diff| self.value(diff))
            }

            pub fn fetch_add(&self, value: T, order: Ordering) -> T {
                self.value(self.loom().fetch_add(value.into_bits(), order))
            }

            pub fn fetch_xor(&self, value: T, order: Ordering) -> T {
                assert_eq!(self.first, 0, "no difference, but the value itself");
                self.value(self.loom().fetch_xor(value.into_bits(), order))
            }

            pub fn fetch_max(&self, value: T, order: Ordering) -> T {
                assert_eq!(self.first, 0, "no difference, but the value itself");
                self.value(self.loom().fetch_max(value.into_bits(), order))
            }
        }
    }
}

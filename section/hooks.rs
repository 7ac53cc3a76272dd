//! What an embedder does before, after and between sections.

use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// What is called around sections; installed once, by [`install`].
///
/// ```text
/// usable() -> true    begin()  vector kernel  end()  relax()
/// usable() -> false   scalar code                    relax()
/// scalar code that no row of vectors stands above    relax()
/// ```
///
/// A hook must not call this crate, and should not panic; if one does, the message that was being
/// worked on is lost. A panic in between runs `end` all the same.
///
/// # Examples
///
/// ```
/// use core::sync::atomic::{AtomicBool, Ordering};
///
/// use keyspring::section::{Hooks, install};
///
/// static IN_INTERRUPT: AtomicBool = AtomicBool::new(false);
///
/// static HOOKS: Hooks = Hooks {
///     usable: || !IN_INTERRUPT.load(Ordering::Relaxed),
///     begin: || { /* save the vector registers, keep the task on this CPU */ },
///     end: || { /* and the reverse */ },
///     relax: core::hint::spin_loop,
/// };
///
/// install(&HOOKS)?;
/// assert!(install(&HOOKS).is_err());
/// # Ok::<(), keyspring::section::AlreadyInstalled>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Whether vector registers may be used at the moment; asked before each vector section. If
    /// not, scalar code gives the same result.
    pub usable: fn() -> bool,
    /// Called before a vector section. Sections are never nested in one thread.
    pub begin: fn(),
    /// Called after it.
    pub end: fn(),
    /// Called after each section, vector or scalar, outside `begin` and `end`: the place to let
    /// others run. Where nobody else can, it must just return.
    pub relax: fn(),
}

/// Null until [`install`].
static INSTALLED: AtomicPtr<Hooks> = AtomicPtr::new(ptr::null_mut());

/// Installs the hooks, for good; to be called before the first use of the crate, which until then
/// runs vector kernels freely.
///
/// # Errors
///
/// [`AlreadyInstalled`] if there are hooks; those stay.
///
/// # Examples
///
/// ```
/// use keyspring::section::{Hooks, install};
///
/// static HOOKS: Hooks = Hooks { usable: || true, begin: || {}, end: || {}, relax: || {} };
/// install(&HOOKS)?;
/// # Ok::<(), keyspring::section::AlreadyInstalled>(())
/// ```
pub fn install(hooks: &'static Hooks) -> Result<(), AlreadyInstalled> {
    let hooks = ptr::from_ref(hooks).cast_mut();
    INSTALLED
        .compare_exchange(ptr::null_mut(), hooks, Ordering::Release, Ordering::Relaxed)
        .map(|_| ())
        .map_err(|_| AlreadyInstalled(()))
}

#[inline]
fn installed() -> Option<&'static Hooks> {
    // SAFETY: the pointer is null or that of a `&'static Hooks`, by `install`.
    unsafe { INSTALLED.load(Ordering::Acquire).as_ref() }
}

/// Whether vector registers may be used at the moment.
#[inline]
pub(super) fn usable() -> bool {
    installed().is_none_or(|hooks| (hooks.usable)())
}

/// Runs `code` as one section.
#[inline]
pub(super) fn around<R>(vectors: bool, code: impl FnOnce() -> R) -> R {
    /// Runs the hook when it goes, in a panic too.
    struct End(fn());

    impl Drop for End {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    let Some(hooks) = installed() else { return code() };
    let end = vectors.then(|| {
        (hooks.begin)();
        End(hooks.end)
    });
    let result = code();
    drop(end);
    (hooks.relax)();
    result
}

/// Hooks have been installed before.
///
/// # Examples
///
/// ```
/// use keyspring::section::{Hooks, install};
///
/// static HOOKS: Hooks = Hooks { usable: || true, begin: || {}, end: || {}, relax: || {} };
/// install(&HOOKS)?;
/// assert_eq!(install(&HOOKS).unwrap_err().to_string(), "hooks have been installed before");
/// # Ok::<(), keyspring::section::AlreadyInstalled>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyInstalled(());

impl fmt::Display for AlreadyInstalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hooks have been installed before")
    }
}

impl core::error::Error for AlreadyInstalled {}

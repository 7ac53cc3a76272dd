//! What the free functions keep between two calls, and how to renew it.

use zeroize::Zeroize;

use super::{Error, Health, Mode};

#[cfg(all(target_os = "linux", target_has_atomic = "64"))]
pub(super) use super::thread as local;

/// The mode that the free functions work in. It is chosen once, by what the kernel can do and does.
///
/// A call that has no page works in [`Mode::Direct`] in every mode: in a signal handler that
/// interrupts another, at a thread's very end, and where memory has run out.
///
/// # Examples
///
/// ```
/// println!("{}", keyspring::crng::mode());
/// ```
#[must_use]
pub fn mode() -> Mode {
    local::mode()
}

/// Draws new entropy for this thread, now. In a signal handler that interrupts another call of this
/// module, that is left to the thread's next call.
///
/// # Errors
///
/// [`Error`] if the operating system gives none; what has been seeded before goes on.
///
/// # Examples
///
/// ```
/// keyspring::crng::reseed()?;
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
pub fn reseed() -> Result<(), Error> {
    local::reseed()
}

/// Has every thread draw new entropy at its next call.
///
/// # Examples
///
/// ```
/// keyspring::crng::reseed_all();
/// ```
pub fn reseed_all() {
    local::reseed_all();
}

/// Mixes bytes into every later seed: this thread's at its next call, another's at its next reseed.
/// They are hashed and never credited, so they may be known to anybody. In [`Mode::Direct`] there
/// is no seed to mix them into.
///
/// # Examples
///
/// ```
/// keyspring::crng::add_entropy(b"a hardware generator's output");
/// ```
pub fn add_entropy(bytes: &[u8]) {
    local::add_entropy(bytes);
}

/// Voids all that is kept, in every thread and in every [`Crng`](super::Crng) over the operating
/// system's entropy: to be called after the process was restored from a checkpoint, a snapshot or a
/// pre-initialised image, before it draws. The next call of each must have new entropy.
///
/// # Examples
///
/// ```
/// keyspring::crng::on_restore();
/// ```
pub fn on_restore() {
    local::on_restore();
}

/// Does all that the first calls of this thread do: maps memory, draws entropy, finds out which CPU
/// this is. After it, this thread may be put into a sandbox, and its signal handlers may draw.
///
/// # Sandboxes
///
/// The thread still makes system calls: `getrandom` and `getpid` at its next seed, which is due after
/// 60 seconds (for keys at the next call, for all else at the next refill) or 1 MiB, after [`reseed_all`],
/// [`add_entropy`] and [`on_restore`], and in a child of a fork; and `clock_gettime` for each key, refill
/// and seed, where the vDSO has no clock that it can read by itself. A filter that refuses `getrandom`
/// with an error is no harm where the thread has a key: it goes on under that, which is erased at each
/// refill, and [`health`] shows it; after a fork or a restore, calls fail or panic. One that *kills*
/// whoever makes the call ends the process at that seed, a minute or a mebibyte into the sandbox: such
/// a filter must let these three pass. Where it can't, draw what the sandboxed part needs before it starts, or once and for all with
/// [`bytes`](super::bytes) the seed of a [`SeededCrng`](super::SeededCrng), which makes no system call;
/// that has no new entropy and must not live on in two processes after a fork. In [`Mode::Direct`]
/// each call asks the operating system, so there `getrandom` must pass in any case.
///
/// A thread that is started inside the sandbox is not warm: its first call needs `mmap` and `madvise`
/// too, unless a page is free: they are mapped 64 at a time, and come back from threads that end. Where
/// these fail with an error, it works in direct mode.
///
/// # Errors
///
/// [`Error`] if the operating system gives no entropy.
///
/// # Examples
///
/// ```
/// keyspring::crng::warm_up()?;
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
pub fn warm_up() -> Result<(), Error> {
    crate::fork::stamp();
    crate::chacha::Core::new();
    let mut bytes = [0; 32];
    local::fill(&mut bytes).map(|()| bytes.zeroize())?;
    // The first seed of a process lasts for one refill: this one lasts.
    local::reseed()
}

/// How this thread's generator has fared since the thread began; each thread has its own figures,
/// and none are kept for a thread that has ended. A child process goes on with those of the thread
/// that was forked. In [`Mode::Direct`] there is nothing to tell.
///
/// # Examples
///
/// ```
/// assert!(!keyspring::crng::health().degraded());
/// ```
#[must_use]
pub fn health() -> Health {
    local::health()
}

/// Where nothing is kept, there is nothing to renew.
#[cfg(not(all(target_os = "linux", target_has_atomic = "64")))]
pub(super) mod local {
    use zeroize::Zeroize;

    use super::super::{SystemEntropy, direct, seed};
    use super::{Error, Health, Mode};

    pub(in super::super) use direct::{fill, fill as fill_keys};

    pub(in super::super) fn fill_array<const N: usize>(
        dst: &mut [u8; N],
        _keys: bool,
    ) -> Result<(), Error> {
        fill(dst)
    }

    pub(in super::super) fn word<const N: usize>() -> Option<[u8; N]> {
        None
    }

    pub(super) fn mode() -> Mode {
        Mode::Direct
    }

    pub(super) fn reseed() -> Result<(), Error> {
        seed::draw(&mut SystemEntropy).map(|mut bytes| bytes.zeroize())
    }

    pub(super) fn reseed_all() {}

    pub(super) fn add_entropy(_: &[u8]) {}

    pub(super) fn on_restore() {}

    pub(super) fn health() -> Health {
        Health::default()
    }
}

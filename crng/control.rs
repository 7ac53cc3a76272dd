//! What the free functions keep between two calls, and how to renew it.

use core::fmt;

use zeroize::Zeroize;

use super::Error;

#[cfg(all(target_os = "linux", target_has_atomic = "64"))]
pub(super) use super::thread as local;

/// How the free functions keep two processes from the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Output is made ahead, in memory that a fork wipes and that stays out of swap and core dumps
    /// (`MAP_DROPPABLE`, Linux 6.11 and later).
    BufferedDroppable,
    /// Output is made ahead, in memory that a fork wipes and that stays out of core dumps
    /// (`MADV_WIPEONFORK`, Linux 4.14 and later).
    BufferedWipe,
    /// Output is made ahead, on a platform that has no fork.
    BufferedNoFork,
    /// Nothing is kept between two calls: each asks the operating system.
    Direct,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferedDroppable => "buffered droppable",
            Self::BufferedWipe => "buffered wipe",
            Self::BufferedNoFork => "buffered no fork",
            Self::Direct => "direct",
        })
    }
}

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

/// Does all that a first call of this thread does: maps memory and draws entropy. After it, this
/// thread may be put into a sandbox, and its signal handlers may draw.
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
    let mut bytes = [0; 32];
    local::fill(&mut bytes).map(|()| bytes.zeroize())
}

/// How this thread's generator has fared; by [`health`]. None of it is secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub(super) reseeds: u64,
    pub(super) refills: u64,
    pub(super) error: Option<Error>,
}

impl Health {
    /// How often new entropy was drawn.
    #[must_use]
    pub fn reseeds(&self) -> u64 {
        self.reseeds
    }

    /// How often the buffer was filled.
    #[must_use]
    pub fn refills(&self) -> u64 {
        self.refills
    }

    /// Whether the last attempt to draw new entropy failed: output goes on under the erased key of
    /// an earlier seed, and the operating system is asked again.
    #[must_use]
    pub fn degraded(&self) -> bool {
        self.error.is_some()
    }

    /// Why it failed.
    #[must_use]
    pub fn last_error(&self) -> Option<Error> {
        self.error
    }
}

/// How this thread's generator has fared so far. In [`Mode::Direct`] there is nothing to tell.
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

    pub(in super::super) use direct::{fill, fill as fill_key};

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

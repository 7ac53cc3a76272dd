//! In which mode a generator works, and how it has fared.

use core::fmt;

use super::Error;

/// How the free functions keep two processes from the same bytes.
///
/// # Examples
///
/// ```
/// # #[cfg(all(feature = "std", feature = "getrandom"))] {
/// use keyspring::crng::{Mode, mode};
///
/// if mode() == Mode::Direct {
///     println!("each call asks the operating system");
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Output is made ahead, in memory that a fork wipes and that stays out of swap and core dumps
    /// (`MAP_DROPPABLE`, Linux 6.11 and later).
    BufferedDroppable,
    /// Output is made ahead, in memory that a fork wipes and that stays out of core dumps
    /// (`MADV_WIPEONFORK`, Linux 4.14 and later).
    BufferedWipe,
    /// Output is made ahead in ordinary memory, on a platform that has no fork (Windows, WebAssembly). An
    /// owned [`Crng`](super::Crng) works so there, and without `std` everywhere. The free functions don't
    /// yet: outside of Linux they are in direct mode, so [`mode`](super::mode) never gives it.
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

/// How a generator has fared, a thread's or [an owned one](super::Crng::health). None of it is
/// secret.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "getrandom")] {
/// let mut rng = keyspring::crng::Crng::new()?;
/// rng.reseed()?;
/// assert_eq!(rng.health().last_error(), None);
/// # }
/// # Ok::<(), keyspring::crng::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub(super) reseeds: u64,
    pub(super) refills: u64,
    pub(super) error: Option<Error>,
}

impl Health {
    /// Before the first call.
    pub(super) const NEW: Self = Self { reseeds: 0, refills: 0, error: None };

    /// How often new entropy was drawn.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// rng.reseed()?;
    /// println!("{} times", rng.health().reseeds());
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[must_use]
    pub fn reseeds(&self) -> u64 {
        self.reseeds
    }

    /// How often the buffer was filled.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// rng.try_fill(&mut [0; 1000])?;
    /// println!("{} times", rng.health().refills());
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[must_use]
    pub fn refills(&self) -> u64 {
        self.refills
    }

    /// Whether the last attempt to draw new entropy failed: output goes on under the erased key of
    /// an earlier seed, and the source is asked again.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// rng.reseed()?;
    /// assert!(!rng.health().degraded());
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[must_use]
    pub fn degraded(&self) -> bool {
        self.error.is_some()
    }

    /// Why it failed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "getrandom")] {
    /// let mut rng = keyspring::crng::Crng::new()?;
    /// if let Some(error) = rng.health().last_error() {
    ///     eprintln!("no new entropy: {error}");
    /// }
    /// # }
    /// # Ok::<(), keyspring::crng::Error>(())
    /// ```
    #[must_use]
    pub fn last_error(&self) -> Option<Error> {
        self.error
    }
}

impl fmt::Display for Health {
    /// As in `1 reseeds, 3 refills` or `1 reseeds, 3 refills, degraded: the entropy source failed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} reseeds, {} refills", self.reseeds, self.refills)?;
        self.error.map_or(Ok(()), |error| write!(f, ", degraded: {error}"))
    }
}

//! Time: the time stamp counter, its rate, and the clock that the core really runs at.
//!
//! The counter ticks at a fixed rate, whatever the core does, so cycles need a second clock: a
//! chain of dependent 32-bit multiplies, 3 cycles each on Intel's cores since Nehalem and on AMD's
//! since Zen. (A chain of adds will not do: recent cores fold constant adds when they rename
//! registers.)

use core::time::Duration;
use std::time::Instant;

/// How many multiplies stand in the unrolled body of [`multiply_chain`].
#[cfg(target_arch = "x86_64")]
const UNROLLED: u64 = 8;

/// The rate of [`ticks`], measured once.
#[derive(Clone, Copy)]
pub struct Clock {
    /// Ticks per second.
    pub hertz: f64,
}

impl Clock {
    /// Measures the rate of the counter against the operating system's clock.
    pub fn calibrate() -> Self {
        let (wall, start) = (Instant::now(), ticks());
        std::thread::sleep(Duration::from_millis(100));
        let passed = (ticks() - start) as f64;
        Self { hertz: passed / wall.elapsed().as_secs_f64() }
    }

    /// Converts ticks to nanoseconds.
    pub fn nanoseconds(self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hertz
    }

    /// One sample of the core's clock in Hz, 10 us long, or `None` where no chain of known
    /// latency is at hand. An interrupt can only make a sample too low, so that the highest of
    /// several is the one to take.
    #[cfg(target_arch = "x86_64")]
    pub fn core_hertz(self) -> Option<f64> {
        const MULTIPLIES: u64 = 10_000;
        const LATENCY: u64 = 3;
        let start = ticks();
        multiply_chain(MULTIPLIES / UNROLLED);
        let seconds = (ticks() - start) as f64 / self.hertz;
        Some((MULTIPLIES * LATENCY) as f64 / seconds)
    }

    /// One sample of the core's clock: not known on this architecture.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn core_hertz(self) -> Option<f64> {
        None
    }
}

/// The time stamp counter, read after all that stands before it and before all that follows.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: SSE2, which lfence needs, is part of x86-64.
    unsafe { _mm_lfence() };
    // SAFETY: rdtsc is part of x86-64.
    let now = unsafe { _rdtsc() };
    // SAFETY: as above.
    unsafe { _mm_lfence() };
    now
}

/// The monotonic clock in nanoseconds, where there is no time stamp counter.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Runs `rounds` times [`UNROLLED`] multiplies, each waiting for the one before.
#[cfg(target_arch = "x86_64")]
fn multiply_chain(rounds: u64) {
    // SAFETY: registers only; both are declared, and so are the flags.
    unsafe {
        core::arch::asm!(
            "2:",
            "imul {x:e}, {x:e}", "imul {x:e}, {x:e}", "imul {x:e}, {x:e}", "imul {x:e}, {x:e}",
            "imul {x:e}, {x:e}", "imul {x:e}, {x:e}", "imul {x:e}, {x:e}", "imul {x:e}, {x:e}",
            "dec {n}",
            "jnz 2b",
            x = inout(reg) 3_u32 => _,
            n = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

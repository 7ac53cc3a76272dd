//! What ends the program early.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::fs;
use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// Lets a write past the limit on file sizes fail like one to a full disk, instead of killing the
/// program with its secrets in a core dump.
pub(crate) fn catch_file_size_limit() {
    // Without the handler the kernel still ends the program, only less kindly.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Remembers the last signal that asked the program to end, so that it can clear up first.
#[derive(Debug)]
pub(crate) struct Signals(Arc<AtomicUsize>);

impl Signals {
    pub(crate) fn watch() -> io::Result<Self> {
        let last = Arc::new(AtomicUsize::new(0));
        let ignored = ignored();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            if ignored >> (signal - 1) & 1 == 0 {
                flag::register_usize(signal, Arc::clone(&last), signal as usize)?;
            }
        }
        Ok(Self(last))
    }

    pub(crate) fn received(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}

/// The signals that the program was started to ignore, by `nohup` say: bit `n - 1` is signal `n`.
/// Where Linux's `/proc` is missing, none.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

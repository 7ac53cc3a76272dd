//! The files of the library in which threads share anything, as they are, in a world where loom decides
//! which thread runs next and which store a load sees; and models that use them. `.ci/loom` runs it.
//!
//! models             every model, through every interleaving
//! models MODEL       one of them; the fault that KEYSPRING_FAULT names is on, if `.ci/loom` has put it in

#![no_std]
#![allow(dead_code, unused_imports, reason = "models don't use all that the files have")]

extern crate world as core;
extern crate world as libc;
#[macro_use]
extern crate world as std;

use std::prelude::rust_2024::*;
use std::sync::OnceLock;
use std::time::Instant;

mod chacha;
mod models;
mod report;

#[path = "../../../cpu.rs"]
mod cpu;
#[path = "../../../fork.rs"]
mod fork;
#[path = "../../../section/mod.rs"]
mod section;

mod crng {
    #[path = "../../../../crng/control.rs"]
    mod control;
    #[path = "../../../../crng/direct.rs"]
    mod direct;
    #[path = "../../../../crng/error.rs"]
    mod error;
    mod hardware;
    #[path = "../../../../crng/health.rs"]
    mod health;
    pub(crate) mod models;
    #[path = "../../../../crng/page.rs"]
    mod page;
    #[path = "../../../../crng/paged.rs"]
    mod paged;
    #[path = "../../../../crng/seed.rs"]
    mod seed;
    #[path = "../../../../crng/thread.rs"]
    mod thread;

    pub use self::error::Error;
    pub use self::health::{Health, Mode};
    pub use self::seed::{EntropySource, SystemEntropy};
}

/// The fault that is on.
fn fault() -> &'static str {
    static FAULT: OnceLock<String> = OnceLock::new();
    FAULT.get_or_init(|| std::env::var("KEYSPRING_FAULT").unwrap_or_default())
}

fn main() {
    let chosen: Vec<_> = std::env::args().skip(1).collect();
    let mut failed = false;
    // What went wrong is told in one line below.
    std::panic::set_hook(Box::new(|_| {}));
    for &(name, preemptions, model) in models::ALL {
        if !chosen.is_empty() && !chosen.iter().any(|chosen| chosen == name) {
            continue;
        }
        let start = Instant::now();
        let result = world::explore(preemptions, model);
        let ms = start.elapsed().as_millis();
        match result {
            Ok(runs) => println!("{runs:7} interleavings  {ms:5} ms  {name}"),
            Err(why) => {
                failed = true;
                println!(" failed: {name}: {}", why.lines().next().unwrap_or_default());
            }
        }
    }
    std::process::exit(i32::from(failed));
}

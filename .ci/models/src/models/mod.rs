//! The models: what threads do at once, and what must hold however they meet.

use loom::thread::{JoinHandle, spawn};

use crate::crng;

mod fork;
mod section;

/// The name; how often loom takes a thread off where it could go on; the model. Bugs show with two
/// (Musuvathi and Qadeer, 2007), and three is what the shorter ones have time for.
pub(crate) const ALL: &[(&str, usize, fn())] = &[
    ("slots", 3, crng::models::slots),
    ("slots held", 3, crng::models::slots_held),
    ("slabs", 3, crng::models::slabs),
    ("slots without memory", 3, crng::models::slots_without_memory),
    ("kernels", 3, crng::models::kernels),
    ("restore", 3, crng::models::restore),
    ("epoch", 3, crng::models::epoch),
    ("pool and epoch", 3, crng::models::pool_and_epoch),
    ("pool", 3, crng::models::pool_of_two),
    ("hardware", 3, crng::models::hardware),
    ("first seed", 3, crng::models::first_seed),
    ("stamps of pages", 2, crng::models::stamps_of_pages),
    ("threads", 2, crng::models::threads),
    ("threads without ends", 2, crng::models::threads_without_ends),
    ("first stamp", 3, fork::first_stamp),
    ("stamp without memory", 3, fork::stamp_without_memory),
    ("stamp by kernel", 3, fork::stamp_by_kernel),
    ("stamp after a fork", 3, fork::stamp_after_a_fork),
    ("stamp after a restore", 3, fork::stamp_after_a_restore),
    ("choice of a row", 3, section::choice),
    ("hooks", 3, section::hooks),
    ("counters", 3, section::counters),
];

/// Runs two functions at once, in threads of their own that end as those of the C library do.
pub(crate) fn at_once<A: 'static, B: 'static>(
    a: impl FnOnce() -> A + 'static,
    b: impl FnOnce() -> B + 'static,
) -> (A, B) {
    let (a, b) = (thread(a), thread(b));
    (a.join().expect("it ends well"), b.join().expect("it ends well"))
}

fn thread<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    spawn(move || {
        let result = f();
        world::end_of_thread();
        result
    })
}

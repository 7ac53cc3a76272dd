//! The stamp of the process.

use world::{Kernel, mapped, refuse_after, run_on, wipe_as_a_fork_does};

use super::at_once;
use crate::fork::{Stamp, renew, stamp};

/// Two first calls agree, and one page is mapped.
pub(super) fn first_stamp() {
    let (a, b) = at_once(stamp, stamp);
    assert_eq!(a, b);
    assert_eq!(mapped(), 1);
}

/// Where no page can be had nothing is known, and nobody looks for one again.
pub(super) fn stamp_without_memory() {
    refuse_after(0);
    assert_eq!(at_once(stamp, stamp), (Stamp::Unknown, Stamp::Unknown));
    refuse_after(1);
    assert_eq!((stamp(), mapped()), (Stamp::Unknown, 0));
}

/// Whose answers are believed, and that nothing is left of what was tried.
pub(super) fn stamp_by_kernel() {
    for (kernel, known) in [
        (Kernel::DROPPABLE, true),
        (Kernel { believes_all: true, ..Kernel::DROPPABLE }, false),
        (Kernel { wipes: false, ..Kernel::DROPPABLE }, false),
    ] {
        let before = mapped();
        renew();
        run_on(kernel);
        assert_eq!(stamp() != Stamp::Unknown, known, "{kernel:?}");
        assert_eq!(mapped(), before + usize::from(known), "{kernel:?}");
    }
}

/// The threads of a child agree on a stamp that is not the parent's.
pub(super) fn stamp_after_a_fork() {
    let parent = stamp();
    wipe_as_a_fork_does();
    let (a, b) = at_once(stamp, stamp);
    assert_eq!(a, b);
    assert_ne!(a, parent);
}

/// A page of after the restore has another stamp than that of before; calls on one page agree.
pub(super) fn stamp_after_a_restore() {
    let before = stamp();
    renew();
    assert_ne!(stamp(), before);
    renew();
    let renewed = || {
        renew();
        stamp()
    };
    let (a, b) = at_once(stamp, renewed);
    // The two from before are left, since others may read them.
    assert_eq!(a == b, mapped() == 3);
    assert!(a != before && b != before);
}

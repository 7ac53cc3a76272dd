//! The stamp of the process.

use world::{mapped, wipe_as_a_fork_does};

use super::at_once;
use crate::fork::{renew, stamp};

/// Two first calls agree, and one page is mapped.
pub(super) fn first_stamp() {
    let (a, b) = at_once(stamp, stamp);
    assert_eq!(a, b);
    assert_eq!(mapped(), 1);
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

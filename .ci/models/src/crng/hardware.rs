//! Stands for the CPU's random numbers: it has some at once or later, and loom wants each run alike.

pub(super) fn numbers() -> [u8; 32] {
    [5; 32]
}

//! What the program `keyspring` does that has nothing to do with a command line.

pub mod stream;

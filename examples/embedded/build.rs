//! Links without the files that start a program of the C library, and at a fixed address, since
//! nobody would relocate it.

fn main() {
    let arguments = ["-nostartfiles", "-nostdlib", "-static", "-no-pie"];
    // The `core` of this target names it for unwinding, of which there is none here. On targets
    // without an operating system it does not.
    let personality = "-Wl,--defsym=rust_eh_personality=0";
    for argument in arguments.into_iter().chain([personality]) {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

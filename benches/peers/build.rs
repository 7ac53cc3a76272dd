//! Finds the C libraries among the peers, each only when its feature is on.

/// A feature of this package, and the pkg-config name of the library that it links.
const LIBRARIES: [(&str, &str); 3] =
    [("OPENSSL", "libcrypto"), ("LIBSODIUM", "libsodium"), ("LIBGCRYPT", "libgcrypt")];

fn main() {
    let wanted = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    for (_, library) in LIBRARIES.into_iter().filter(|(feature, _)| wanted(feature)) {
        if let Err(error) = pkg_config::probe_library(library) {
            panic!("{library} is missing: {error}");
        }
    }
}

//! A program written for the `chacha20poly1305` crate, compiled against both crates.

/// With the crate that it was written for.
mod before {
    use chacha20poly1305 as cipher;

    include!("drop_in/program.rs");
}

/// With one `use` line changed.
mod after {
    use keyspring::aead as cipher;

    include!("drop_in/program.rs");
}

#[test]
fn one_changed_use_line_gives_the_same_bytes() {
    for backend in keyspring::cpu::backends() {
        let _guard = keyspring::cpu::force(backend).expect("it is usable");
        assert!(before::run() == after::run(), "{backend}");
    }
}

/// Keys and nonces drawn by the traits' own `Generate` work as well.
#[test]
fn generated_keys_and_nonces_fit() {
    use keyspring::aead::aead::{Aead, Generate, Key, KeyInit};
    use keyspring::aead::{ChaCha20Poly1305, Nonce};

    let cipher = ChaCha20Poly1305::new(&Key::<ChaCha20Poly1305>::generate());
    let nonce = Nonce::generate();
    let sealed = cipher.encrypt(&nonce, b"message".as_slice()).expect("sealing works");
    assert_eq!(cipher.decrypt(&nonce, sealed.as_slice()).expect("it opens"), b"message");
}

//! The system's libsodium, which has one-shot functions for everything.

use core::ffi::{CStr, c_char, c_int, c_uchar, c_ulonglong, c_void};
use core::ptr::{null, null_mut};

use super::{Peer, Source};
use crate::traits::{Aead, ChaCha20, KEY, Poly1305, Random};

/// libsodium.
pub fn peer() -> Peer {
    // SAFETY: may be called at any time, before all others.
    assert!(unsafe { sodium_init() } >= 0, "libsodium does not start");
    // SAFETY: the text that this call returns is static.
    let version = unsafe { CStr::from_ptr(sodium_version_string()) };
    Peer {
        version: version.to_string_lossy().into_owned(),
        chacha20: Some(Box::new(Sodium)),
        poly1305: Some(Box::new(Sodium)),
        aead: Some(Box::new(Cipher(KEY))),
        random: vec![
            Source {
                name: "libsodium default",
                about: "randombytes as it comes: the system's, one call each",
                random: Box::new(Sodium),
            },
            Source {
                name: "libsodium internal",
                about: "ChaCha20, 20 rounds; its key changes after each call",
                random: Box::new(Internal),
            },
        ],
        ..Peer::default()
    }
}

struct Sodium;

impl ChaCha20 for Sodium {
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]) {
        let (at, length) = (data.as_mut_ptr(), data.len() as c_ulonglong);
        // SAFETY: in place is allowed; nonce and key have their lengths by type.
        unsafe {
            crypto_stream_chacha20_ietf_xor(at, at, length, nonce.as_ptr(), KEY.as_ptr());
        }
    }
}

impl Poly1305 for Sodium {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        // SAFETY: tag and key have their lengths by type, and the message gives its own.
        unsafe {
            crypto_onetimeauth_poly1305(
                tag.as_mut_ptr(),
                message.as_ptr(),
                message.len() as c_ulonglong,
                key.as_ptr(),
            );
        }
        tag
    }
}

impl Random for Sodium {
    fn fill(&mut self, dst: &mut [u8]) {
        // SAFETY: writes `dst.len()` bytes.
        unsafe { randombytes_buf(dst.as_mut_ptr().cast(), dst.len()) };
    }

    fn u32(&mut self) -> Option<u32> {
        // SAFETY: takes nothing.
        Some(unsafe { randombytes_random() })
    }
}

/// The generator that libsodium offers in place of the system's.
struct Internal;

impl Random for Internal {
    fn fill(&mut self, dst: &mut [u8]) {
        // SAFETY: the table of functions is constant; this one writes `dst.len()` bytes.
        unsafe {
            (randombytes_internal_implementation.fill)(dst.as_mut_ptr().cast(), dst.len());
        }
    }

    fn u32(&mut self) -> Option<u32> {
        // SAFETY: the table of functions is constant; this one takes nothing.
        Some(unsafe { (randombytes_internal_implementation.random)() })
    }
}

/// A key is the bare 32 bytes: there is nothing to set up.
struct Cipher([u8; 32]);

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.0 = *key;
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        let (at, length) = (data.as_mut_ptr(), data.len() as c_ulonglong);
        // SAFETY: in place is allowed; arrays have their lengths by type, slices give their own.
        unsafe {
            crypto_aead_chacha20poly1305_ietf_encrypt_detached(
                at,
                tag.as_mut_ptr(),
                null_mut(),
                at,
                length,
                aad.as_ptr(),
                aad.len() as c_ulonglong,
                null(),
                nonce.as_ptr(),
                self.0.as_ptr(),
            );
        }
        tag
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        let (at, length) = (data.as_mut_ptr(), data.len() as c_ulonglong);
        // SAFETY: in place is allowed; arrays have their lengths by type, slices give their own.
        let refused = unsafe {
            crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                at,
                null_mut(),
                at,
                length,
                tag.as_ptr(),
                aad.as_ptr(),
                aad.len() as c_ulonglong,
                nonce.as_ptr(),
                self.0.as_ptr(),
            )
        };
        refused == 0
    }
}

/// The start of libsodium's `struct randombytes_implementation`.
#[repr(C)]
struct Implementation {
    name: unsafe extern "C" fn() -> *const c_char,
    random: unsafe extern "C" fn() -> u32,
    stir: Option<unsafe extern "C" fn()>,
    uniform: Option<unsafe extern "C" fn(u32) -> u32>,
    fill: unsafe extern "C" fn(*mut c_void, usize),
}

unsafe extern "C" {
    static randombytes_internal_implementation: Implementation;

    fn sodium_init() -> c_int;
    fn sodium_version_string() -> *const c_char;
    fn randombytes_buf(out: *mut c_void, length: usize);
    fn randombytes_random() -> u32;
    fn crypto_stream_chacha20_ietf_xor(
        out: *mut c_uchar,
        input: *const c_uchar,
        length: c_ulonglong,
        nonce: *const c_uchar,
        key: *const c_uchar,
    ) -> c_int;
    fn crypto_onetimeauth_poly1305(
        out: *mut c_uchar,
        message: *const c_uchar,
        length: c_ulonglong,
        key: *const c_uchar,
    ) -> c_int;
    fn crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        out: *mut c_uchar,
        tag: *mut c_uchar,
        tag_length: *mut c_ulonglong,
        message: *const c_uchar,
        length: c_ulonglong,
        aad: *const c_uchar,
        aad_length: c_ulonglong,
        secret_nonce: *const c_uchar,
        nonce: *const c_uchar,
        key: *const c_uchar,
    ) -> c_int;
    fn crypto_aead_chacha20poly1305_ietf_decrypt_detached(
        out: *mut c_uchar,
        secret_nonce: *mut c_uchar,
        ciphertext: *const c_uchar,
        length: c_ulonglong,
        tag: *const c_uchar,
        aad: *const c_uchar,
        aad_length: c_ulonglong,
        nonce: *const c_uchar,
        key: *const c_uchar,
    ) -> c_int;
}

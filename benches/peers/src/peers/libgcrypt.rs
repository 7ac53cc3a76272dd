//! The system's libgcrypt: handles opened once, set to a new nonce for each message.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null, null_mut};

use super::Peer;
use crate::traits::{Aead, ChaCha20, KEY, Poly1305};

/// libgcrypt.
pub fn peer() -> Peer {
    // SAFETY: no version is asked for, so the call starts the library and returns a static text.
    let version = unsafe { CStr::from_ptr(gcry_check_version(null())) };
    // SAFETY: both commands take one unused integer, and belong here in this order.
    unsafe {
        gcry_control(DISABLE_SECURE_MEMORY, 0_i32);
        gcry_control(INITIALIZATION_FINISHED, 0_i32);
    }
    Peer {
        version: version.to_string_lossy().into_owned(),
        chacha20: Some(Box::new(Handle::new(MODE_STREAM))),
        poly1305: Some(Box::new(Mac::new())),
        aead: Some(Box::new(Handle::new(MODE_POLY1305))),
        ..Peer::default()
    }
}

// From gcrypt.h: commands, the cipher, its modes, the authenticator.
const DISABLE_SECURE_MEMORY: c_int = 37;
const INITIALIZATION_FINISHED: c_int = 38;
const CIPHER_CHACHA20: c_int = 316;
const MODE_STREAM: c_int = 4;
const MODE_POLY1305: c_int = 10;
const MAC_POLY1305: c_int = 501;

/// A cipher handle. It lives as long as the program.
struct Handle(*mut c_void);

impl Handle {
    fn new(mode: c_int) -> Self {
        let mut handle = null_mut();
        // SAFETY: writes a handle, or leaves null and returns an error.
        let error = unsafe { gcry_cipher_open(&mut handle, CIPHER_CHACHA20, mode, 0) };
        assert_eq!(error, 0, "no ChaCha20 in this libgcrypt");
        let mut handle = Self(handle);
        handle.set_key(&KEY);
        handle
    }

    fn start(&mut self, nonce: &[u8; 12]) {
        // SAFETY: the handle is open; the length is the array's.
        let error = unsafe { gcry_cipher_setiv(self.0, nonce.as_ptr().cast(), nonce.len()) };
        assert_eq!(error, 0);
    }

    fn authenticate(&mut self, aad: &[u8]) {
        // SAFETY: the handle is open; the length is the slice's.
        let error = unsafe { gcry_cipher_authenticate(self.0, aad.as_ptr().cast(), aad.len()) };
        assert_eq!(error, 0);
    }

    fn encrypt(&mut self, data: &mut [u8]) {
        // SAFETY: the handle is open; without an input the output is worked on in place.
        let error =
            unsafe { gcry_cipher_encrypt(self.0, data.as_mut_ptr().cast(), data.len(), null(), 0) };
        assert_eq!(error, 0);
    }
}

impl ChaCha20 for Handle {
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]) {
        self.start(nonce);
        self.encrypt(data);
    }
}

impl Aead for Handle {
    fn set_key(&mut self, key: &[u8; 32]) {
        // SAFETY: the handle is open; the length is the array's.
        let error = unsafe { gcry_cipher_setkey(self.0, key.as_ptr().cast(), key.len()) };
        assert_eq!(error, 0);
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        self.start(nonce);
        self.authenticate(aad);
        self.encrypt(data);
        let mut tag = [0_u8; 16];
        // SAFETY: the handle is open; the length is the array's.
        let error = unsafe { gcry_cipher_gettag(self.0, tag.as_mut_ptr().cast(), tag.len()) };
        assert_eq!(error, 0);
        tag
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.start(nonce);
        self.authenticate(aad);
        // SAFETY: the handle is open; without an input the output is worked on in place.
        let error =
            unsafe { gcry_cipher_decrypt(self.0, data.as_mut_ptr().cast(), data.len(), null(), 0) };
        assert_eq!(error, 0);
        // SAFETY: the handle is open; the length is the array's.
        unsafe { gcry_cipher_checktag(self.0, tag.as_ptr().cast(), tag.len()) == 0 }
    }
}

/// A handle for the authenticator. It lives as long as the program.
struct Mac(*mut c_void);

impl Mac {
    fn new() -> Self {
        let mut handle = null_mut();
        // SAFETY: writes a handle, or leaves null and returns an error; no context is asked for.
        let error = unsafe { gcry_mac_open(&mut handle, MAC_POLY1305, 0, null_mut()) };
        assert_eq!(error, 0, "no Poly1305 in this libgcrypt");
        Self(handle)
    }
}

impl Poly1305 for Mac {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        let mut tag = [0_u8; 16];
        let mut length = tag.len();
        // SAFETY: the handle is open; each length is the buffer's own.
        let error = unsafe {
            gcry_mac_setkey(self.0, key.as_ptr().cast(), key.len())
                | gcry_mac_write(self.0, message.as_ptr().cast(), message.len())
                | gcry_mac_read(self.0, tag.as_mut_ptr().cast(), &mut length)
        };
        assert_eq!(error, 0);
        tag
    }
}

unsafe extern "C" {
    fn gcry_check_version(wanted: *const c_char) -> *const c_char;
    fn gcry_control(command: c_int, ...) -> c_uint;
    fn gcry_cipher_open(
        handle: *mut *mut c_void,
        algorithm: c_int,
        mode: c_int,
        flags: c_uint,
    ) -> c_uint;
    fn gcry_cipher_setkey(handle: *mut c_void, key: *const c_void, length: usize) -> c_uint;
    fn gcry_cipher_setiv(handle: *mut c_void, nonce: *const c_void, length: usize) -> c_uint;
    fn gcry_cipher_authenticate(handle: *mut c_void, aad: *const c_void, length: usize) -> c_uint;
    fn gcry_cipher_encrypt(
        handle: *mut c_void,
        out: *mut c_void,
        size: usize,
        input: *const c_void,
        length: usize,
    ) -> c_uint;
    fn gcry_cipher_decrypt(
        handle: *mut c_void,
        out: *mut c_void,
        size: usize,
        input: *const c_void,
        length: usize,
    ) -> c_uint;
    fn gcry_cipher_gettag(handle: *mut c_void, out: *mut c_void, length: usize) -> c_uint;
    fn gcry_cipher_checktag(handle: *mut c_void, tag: *const c_void, length: usize) -> c_uint;
    fn gcry_mac_open(
        handle: *mut *mut c_void,
        algorithm: c_int,
        flags: c_uint,
        context: *mut c_void,
    ) -> c_uint;
    fn gcry_mac_setkey(handle: *mut c_void, key: *const c_void, length: usize) -> c_uint;
    fn gcry_mac_write(handle: *mut c_void, data: *const c_void, length: usize) -> c_uint;
    fn gcry_mac_read(handle: *mut c_void, out: *mut c_void, length: *mut usize) -> c_uint;
}

//! The system's OpenSSL (3.0 or later), through its EVP interface: algorithms fetched once,
//! contexts used again and again, so that a message costs no look-up and no allocation.

use core::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use core::ptr::{null, null_mut};

use super::{Peer, Source};
use crate::traits::{Aead, ChaCha20, KEY, Poly1305, Random};

/// OpenSSL.
pub fn peer() -> Peer {
    const FULL_VERSION: c_int = 0;
    // SAFETY: the text that this call returns is static.
    let version = unsafe { CStr::from_ptr(OpenSSL_version(FULL_VERSION)) };
    Peer {
        version: version.to_string_lossy().into_owned(),
        chacha20: Some(Box::new(Stream(Context::new(c"ChaCha20", ENCRYPT)))),
        poly1305: Some(Box::new(Mac::new())),
        aead: Some(Box::new(Cipher {
            sealing: Context::new(c"ChaCha20-Poly1305", ENCRYPT),
            opening: Context::new(c"ChaCha20-Poly1305", DECRYPT),
        })),
        random: vec![Source {
            name: "OpenSSL RAND",
            about: "AES-256 CTR_DRBG; its key changes after each call",
            random: Box::new(System),
        }],
        ..Peer::default()
    }
}

const ENCRYPT: c_int = 1;
const DECRYPT: c_int = 0;
/// Leaves the direction of a context as it was.
const SAME: c_int = -1;
/// `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG`.
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

/// A cipher context for one direction. It lives as long as the program.
struct Context(*mut c_void);

impl Context {
    fn new(algorithm: &CStr, direction: c_int) -> Self {
        // SAFETY: a null library context is the default one; the name is a C string.
        let cipher = unsafe { EVP_CIPHER_fetch(null_mut(), algorithm.as_ptr(), null()) };
        assert!(!cipher.is_null(), "no {algorithm:?} in this OpenSSL");
        // SAFETY: takes nothing.
        let context = unsafe { EVP_CIPHER_CTX_new() };
        assert!(!context.is_null(), "out of memory");
        // SAFETY: cipher and context are not null; the key is 32 bytes long, and no nonce is given.
        let done =
            unsafe { EVP_CipherInit_ex2(context, cipher, KEY.as_ptr(), null(), direction, null()) };
        assert_eq!(done, 1, "{algorithm:?} takes no key");
        Self(context)
    }

    fn set_key(&mut self, key: &[u8; 32]) {
        // SAFETY: the context has its cipher since `new`; the key has its length by type.
        let done =
            unsafe { EVP_CipherInit_ex2(self.0, null(), key.as_ptr(), null(), SAME, null()) };
        assert_eq!(done, 1);
    }

    /// Starts a message. `nonce` is as long as the cipher wants it: 16 bytes for ChaCha20, 12 for
    /// the AEAD.
    fn start(&mut self, nonce: &[u8]) {
        // SAFETY: the context has its cipher and its key; the nonce has the cipher's length.
        let done =
            unsafe { EVP_CipherInit_ex2(self.0, null(), null(), nonce.as_ptr(), SAME, null()) };
        assert_eq!(done, 1);
    }

    fn authenticate(&mut self, aad: &[u8]) {
        let mut written = 0;
        // SAFETY: without an output, the input is additional data, read for its own length.
        let done = unsafe {
            EVP_CipherUpdate(self.0, null_mut(), &mut written, aad.as_ptr(), int(aad.len()))
        };
        assert_eq!(done, 1);
    }

    fn update_in_place(&mut self, data: &mut [u8]) {
        let mut written = 0;
        let at = data.as_mut_ptr();
        // SAFETY: in place is allowed, and a stream cipher writes as much as it reads.
        let done = unsafe { EVP_CipherUpdate(self.0, at, &mut written, at, int(data.len())) };
        assert_eq!(done, 1);
    }

    /// Ends a message; `false` is a forgery.
    fn finish(&mut self) -> bool {
        let (mut written, mut rest) = (0, [0_u8; 16]);
        // SAFETY: no more than a block can be written, and a stream cipher writes nothing.
        unsafe { EVP_CipherFinal_ex(self.0, rest.as_mut_ptr(), &mut written) == 1 }
    }

    fn tag(&mut self) -> [u8; 16] {
        let mut tag = [0_u8; 16];
        // SAFETY: writes the 16 bytes of a tag, whose length is given.
        let done = unsafe { EVP_CIPHER_CTX_ctrl(self.0, GET_TAG, 16, tag.as_mut_ptr().cast()) };
        assert_eq!(done, 1);
        tag
    }

    fn expect_tag(&mut self, tag: &[u8; 16]) {
        // SAFETY: reads 16 bytes; the pointer is mutable in the declaration alone.
        let done =
            unsafe { EVP_CIPHER_CTX_ctrl(self.0, SET_TAG, 16, tag.as_ptr().cast_mut().cast()) };
        assert_eq!(done, 1);
    }
}

struct Stream(Context);

impl ChaCha20 for Stream {
    fn xor(&mut self, nonce: &[u8; 12], data: &mut [u8]) {
        // OpenSSL's nonce starts with the 32-bit block counter.
        let mut counter_and_nonce = [0; 16];
        counter_and_nonce[4..].copy_from_slice(nonce);
        self.0.start(&counter_and_nonce);
        self.0.update_in_place(data);
    }
}

struct Mac(*mut c_void);

impl Mac {
    fn new() -> Self {
        // SAFETY: a null library context is the default one; the name is a C string.
        let mac = unsafe { EVP_MAC_fetch(null_mut(), c"POLY1305".as_ptr(), null()) };
        assert!(!mac.is_null(), "no POLY1305 in this OpenSSL");
        // SAFETY: the algorithm is not null.
        let context = unsafe { EVP_MAC_CTX_new(mac) };
        assert!(!context.is_null(), "out of memory");
        Self(context)
    }
}

impl Poly1305 for Mac {
    fn mac(&mut self, key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        let (mut tag, mut written) = ([0; 16], 0);
        // SAFETY: the context has its algorithm since `new`; each length is the buffer's own.
        let done = unsafe {
            EVP_MAC_init(self.0, key.as_ptr(), key.len(), null())
                & EVP_MAC_update(self.0, message.as_ptr(), message.len())
                & EVP_MAC_final(self.0, tag.as_mut_ptr(), &mut written, tag.len())
        };
        assert_eq!(done, 1);
        tag
    }
}

struct Cipher {
    sealing: Context,
    opening: Context,
}

impl Aead for Cipher {
    fn set_key(&mut self, key: &[u8; 32]) {
        self.sealing.set_key(key);
        self.opening.set_key(key);
    }

    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        self.sealing.start(nonce);
        self.sealing.authenticate(aad);
        self.sealing.update_in_place(data);
        assert!(self.sealing.finish());
        self.sealing.tag()
    }

    fn open(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &[u8; 16]) -> bool {
        self.opening.start(nonce);
        self.opening.expect_tag(tag);
        self.opening.authenticate(aad);
        self.opening.update_in_place(data);
        self.opening.finish()
    }
}

struct System;

impl Random for System {
    fn fill(&mut self, dst: &mut [u8]) {
        // SAFETY: writes `dst.len()` bytes.
        let done = unsafe { RAND_bytes(dst.as_mut_ptr(), int(dst.len())) };
        assert_eq!(done, 1);
    }
}

fn int(length: usize) -> c_int {
    length.try_into().expect("no timed message reaches 2 GiB")
}

unsafe extern "C" {
    fn OpenSSL_version(which: c_int) -> *const c_char;
    fn EVP_CIPHER_fetch(
        library: *mut c_void,
        algorithm: *const c_char,
        properties: *const c_char,
    ) -> *mut c_void;
    fn EVP_CIPHER_CTX_new() -> *mut c_void;
    fn EVP_CipherInit_ex2(
        context: *mut c_void,
        cipher: *const c_void,
        key: *const c_uchar,
        nonce: *const c_uchar,
        direction: c_int,
        parameters: *const c_void,
    ) -> c_int;
    fn EVP_CipherUpdate(
        context: *mut c_void,
        out: *mut c_uchar,
        written: *mut c_int,
        input: *const c_uchar,
        length: c_int,
    ) -> c_int;
    fn EVP_CipherFinal_ex(context: *mut c_void, out: *mut c_uchar, written: *mut c_int) -> c_int;
    fn EVP_CIPHER_CTX_ctrl(
        context: *mut c_void,
        kind: c_int,
        argument: c_int,
        pointer: *mut c_void,
    ) -> c_int;
    fn EVP_MAC_fetch(
        library: *mut c_void,
        algorithm: *const c_char,
        properties: *const c_char,
    ) -> *mut c_void;
    fn EVP_MAC_CTX_new(mac: *mut c_void) -> *mut c_void;
    fn EVP_MAC_init(
        context: *mut c_void,
        key: *const c_uchar,
        length: usize,
        parameters: *const c_void,
    ) -> c_int;
    fn EVP_MAC_update(context: *mut c_void, data: *const c_uchar, length: usize) -> c_int;
    fn EVP_MAC_final(
        context: *mut c_void,
        out: *mut c_uchar,
        written: *mut usize,
        size: usize,
    ) -> c_int;
    fn RAND_bytes(out: *mut c_uchar, length: c_int) -> c_int;
}

// A program as the `chacha20poly1305` crate's users write it: nothing but the `use` line outside
// this file says whose types these are.

use cipher::aead::{Aead, AeadInOut, KeyInit, Payload};
use cipher::{ChaCha20Poly1305, Key, Nonce, Tag, XChaCha20Poly1305, XNonce};

/// Everything that the program computes, one after the other.
pub(crate) fn run() -> Vec<u8> {
    let mut out = Vec::new();
    let key = Key::from([0x42; 32]);
    let cipher = ChaCha20Poly1305::new(&key);
    let nonce = Nonce::from([7; 12]);
    for len in (0..300).chain([1000, 4096, 10_000]) {
        let message: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let sealed = cipher.encrypt(&nonce, message.as_slice()).expect("sealing works");
        assert_eq!(cipher.decrypt(&nonce, sealed.as_slice()).expect("it opens"), message);
        out.extend(sealed);

        let payload = Payload { msg: &message, aad: b"header" };
        out.extend(cipher.encrypt(&nonce, payload).expect("sealing works"));

        let mut buffer = message.clone();
        cipher.encrypt_in_place(&nonce, b"header", &mut buffer).expect("sealing works");
        out.extend(&buffer);
        cipher.decrypt_in_place(&nonce, b"header", &mut buffer).expect("it opens");
        assert_eq!(buffer, message);

        let tag: Tag = cipher
            .encrypt_inout_detached(&nonce, b"", buffer.as_mut_slice().into())
            .expect("sealing works");
        out.extend(tag);
        assert!(cipher.decrypt(&nonce, buffer.as_slice()).is_err());
    }

    let cipher = XChaCha20Poly1305::new_from_slice(&[1; 32]).expect("32 bytes are a key");
    assert!(XChaCha20Poly1305::new_from_slice(&[1; 31]).is_err());
    let nonce = XNonce::from([9; 24]);
    out.extend(cipher.encrypt(&nonce, b"extended".as_slice()).expect("sealing works"));
    out
}

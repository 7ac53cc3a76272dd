//! The traits of the `cipher` crate, 0.5.
//!
//! To apply keystream "unchecked" past the end panics: nothing here repeats a keystream.

use cipher::consts::{U8, U12, U24, U32};
use cipher::{
    Iv, IvSizeUser, Key, KeyIvInit, KeySizeUser, OverflowError, SeekNum, StreamCipher,
    StreamCipherError, StreamCipherSeek,
};
use inout::InOutBuf;

use super::data::{Apart, Keystream};
use super::inout::Buffer;
use super::{ChaCha8, ChaCha12, ChaCha20, ChaCha20Legacy, Exhausted, XChaCha20};

impl From<Exhausted> for StreamCipherError {
    fn from(_: Exhausted) -> Self {
        Self
    }
}

macro_rules! traits {
    ($cipher:ident, $nonce_size:ty) => {
        impl KeySizeUser for $cipher {
            type KeySize = U32;
        }

        impl IvSizeUser for $cipher {
            type IvSize = $nonce_size;
        }

        impl KeyIvInit for $cipher {
            fn new(key: &Key<Self>, iv: &Iv<Self>) -> Self {
                Self::from_key(&key.0, &iv.0)
            }
        }

        impl StreamCipher for $cipher {
            fn check_remaining(&self, data_len: usize) -> Result<(), StreamCipherError> {
                self.0.end_after(data_len)?;
                Ok(())
            }

            /// Panics if the keystream is exhausted; nothing is written then.
            fn unchecked_apply_keystream_inout(&mut self, buffer: InOutBuf<'_, '_, u8>) {
                match buffer.into() {
                    Buffer::InPlace(message) => self.0.try_apply(message),
                    Buffer::Apart(source, out) => self.0.try_apply(Apart::new(source, out)),
                }
                .expect("keystream left");
            }

            /// Panics if the keystream is exhausted; nothing is written then.
            fn unchecked_write_keystream(&mut self, out: &mut [u8]) {
                self.0.try_apply(Keystream(out)).expect("keystream left");
            }
        }

        impl StreamCipherSeek for $cipher {
            fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
                // The last byte of block number `position`, in blocks of one byte.
                T::from_block_byte(self.0.position, 1, 1)
            }

            fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
                let (byte, _) = position.into_block_byte::<u64>(1)?;
                if byte > self.0.limit {
                    return Err(StreamCipherError);
                }
                self.0.seek_to(byte);
                Ok(())
            }
        }
    };
}

traits!(ChaCha20, U12);
traits!(ChaCha12, U12);
traits!(ChaCha8, U12);
traits!(XChaCha20, U24);
traits!(ChaCha20Legacy, U8);

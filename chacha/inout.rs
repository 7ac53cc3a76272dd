//! The buffers of the RustCrypto traits: in place, or one to read and one to write.

use core::slice;

use inout::InOutBuf;

use super::data::InPlace;

/// Where a buffer of the traits lies.
#[derive(Debug)]
pub(crate) enum Buffer<'a> {
    InPlace(InPlace<'a>),
    Apart(&'a [u8], &'a mut [u8]),
}

impl<'a> From<InOutBuf<'a, 'a, u8>> for Buffer<'a> {
    fn from(buffer: InOutBuf<'a, 'a, u8>) -> Self {
        let len = buffer.len();
        let (source, destination) = buffer.into_raw();
        if source == destination.cast_const() {
            // SAFETY: an `InOutBuf` holds `len` bytes to write, for its lifetime, by its contract.
            return Self::InPlace(InPlace(unsafe { slice::from_raw_parts_mut(destination, len) }));
        }
        // SAFETY: an `InOutBuf` holds `len` bytes to read, for its lifetime, by its contract, which
        // says too that they do not overlap those to write unless both start at the same address.
        let source = unsafe { slice::from_raw_parts(source, len) };
        // SAFETY: as above, for the bytes to write.
        Self::Apart(source, unsafe { slice::from_raw_parts_mut(destination, len) })
    }
}

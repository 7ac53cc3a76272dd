//! The traits of the `universal-hash` crate, 0.6.

use universal_hash::array::Array;
use universal_hash::common::{BlockSizeUser, KeySizeUser, ParBlocksSizeUser};
use universal_hash::consts::{U16, U32, U64};
use universal_hash::{Block, Key, KeyInit, ParBlocks, UhfBackend, UhfClosure, UniversalHash};

use super::Poly1305;

impl KeySizeUser for Poly1305 {
    type KeySize = U32;
}

impl KeyInit for Poly1305 {
    fn new(key: &Key<Self>) -> Self {
        Self::from_key(&key.0)
    }
}

impl BlockSizeUser for Poly1305 {
    type BlockSize = U16;
}

impl UniversalHash for Poly1305 {
    fn update_with_backend(&mut self, f: impl UhfClosure<BlockSize = U16>) {
        f.call(&mut Blocks(self));
    }

    /// All blocks at once, for the kernels that want many.
    fn update(&mut self, blocks: &[Block<Self>]) {
        self.update(Array::slice_as_flattened(blocks));
    }

    fn finalize(self) -> Block<Self> {
        Array(self.finalize())
    }
}

/// What takes in blocks for a closure: as many side by side as are worth a vector kernel.
struct Blocks<'a>(&'a mut Poly1305);

impl BlockSizeUser for Blocks<'_> {
    type BlockSize = U16;
}

impl ParBlocksSizeUser for Blocks<'_> {
    type ParBlocksSize = U64;
}

impl UhfBackend for Blocks<'_> {
    fn proc_block(&mut self, block: &Block<Self>) {
        self.0.update(block);
    }

    fn proc_par_blocks(&mut self, blocks: &ParBlocks<Self>) {
        self.0.update(blocks.as_flattened());
    }
}

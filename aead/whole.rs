//! One whole message: sealing and opening over the two dispatchers.

use zeroize::Zeroize;

use super::backend::Fused;
use super::framing;
use crate::chacha::data::{InPlace, Keystream, Message};
use crate::chacha::{self, DOUBLE_ROUNDS, State};
use crate::poly1305::{self, Accumulator, tags_are_equal};

/// The backends that a key object has settled on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cores {
    pub(super) chacha: chacha::Core,
    pub(super) poly1305: poly1305::Core,
    /// What seals in one pass, where a row does.
    pub(super) fused: Option<Fused>,
}

impl Cores {
    #[inline]
    pub(super) fn new() -> Self {
        let chacha = chacha::Core::new();
        Self { chacha, poly1305: poly1305::Core::new(), fused: Fused::beside(chacha) }
    }

    /// Encrypts a message with block 0 and keystream that are there already, and gives its tag.
    pub(super) fn seal_with<M: Message>(
        self,
        block: &[u8; 64],
        keystream: &[u8],
        aad: &[u8],
        mut message: M,
    ) -> [u8; 16] {
        message.put(keystream);
        self.tag(key(block), aad, message.output())
    }

    /// Checks the tag of a ciphertext, and only then decrypts it, with block 0 and keystream that are
    /// there already. Returns whether the tag was right.
    pub(super) fn open_with<M: Message>(
        self,
        block: &[u8; 64],
        keystream: &[u8],
        aad: &[u8],
        mut message: M,
        tag: &[u8; 16],
    ) -> bool {
        let right = tags_are_equal(&self.tag(key(block), aad, message.input()), tag);
        if right {
            message.put(keystream);
        }
        right
    }

    /// The tag of a message that is a ciphertext already.
    fn tag(self, key: &[u8; 32], aad: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let mut mac = Accumulator::new(self.poly1305, key);
        mac.padded(aad);
        mac.padded(ciphertext);
        mac.blocks(&[framing::lengths(aad.len(), ciphertext.len())]);
        mac.tag()
    }
}

/// The bytes that are encrypted before they are authenticated. They should still be in the L1 then, and
/// each start of Poly1305's vector kernel costs something (Zen 5, cycles to seal 64 KiB: 27,800 by
/// 8 KiB, 27,400 by 16, 27,100 by 32).
const PIECE: usize = 1 << 15;

/// A key and a nonce.
pub(super) struct Whole {
    /// At block 0, which makes the Poly1305 key; the message starts with block 1.
    pub(super) state: State,
    pub(super) cores: Cores,
}

impl Whole {
    #[inline]
    pub(super) fn new(cores: Cores, key: &[u8; 32], nonce: &[u8; 12]) -> Self {
        Self { state: State::with_nonce_96(key, nonce, 0, DOUBLE_ROUNDS), cores }
    }

    /// Encrypts a message and gives its tag.
    pub(super) fn seal<M: Message>(&self, aad: &[u8], message: M) -> [u8; 16] {
        self.seal_parts(&[aad], message)
    }

    /// As [`Whole::seal`], with an AAD in several places.
    ///
    /// ```text
    /// for each piece:  encrypt it, then authenticate it while it is in the cache
    /// ```
    ///
    /// 1. Block 0 comes out of the same pass as the first blocks of the message, unless it would be
    ///    one too many for their passes.
    /// 2. A fused row takes over after one pass, where there is a chunk for it, and leaves the end, which is
    ///    none.
    fn seal_parts<M: Message>(&self, aad: &[&[u8]], mut message: M) -> [u8; 16] {
        let len = message.len();
        let chacha = self.cores.chacha;
        let mut block = [0; 64];
        // With block 0.
        let pass = 64 * (chacha.longest_pass() - 1);
        let mut encrypted = len.min(match self.cores.fused {
            Some(fused) if len >= pass + fused.chunk() => pass,
            _ if chacha.block_apart_fits(len) => PIECE - 64,
            _ => 0,
        });
        chacha.run(&self.state, 0, Some(&mut block), message.window(0, encrypted));
        let mut mac = self.authenticator(&mut block);
        let aad_len = match aad {
            [aad] => {
                mac.padded(aad);
                aad.len()
            }
            parts => mac.padded_parts(parts),
        };
        let mut authenticated = 0;
        if let Some(fused) = self.cores.fused {
            let (source, out) = message.parts();
            let first = 1 + (encrypted / 64) as u64;
            (encrypted, authenticated) =
                fused.seal(&self.state, first, mac.state(), source, out, encrypted);
        }
        loop {
            mac.padded(&message.output()[authenticated..encrypted]);
            if encrypted == len {
                break;
            }
            authenticated = encrypted;
            encrypted += (len - encrypted).min(PIECE);
            let first = 1 + (authenticated / 64) as u64;
            let window = message.window(authenticated, encrypted - authenticated);
            chacha.run(&self.state, first, None, window);
        }
        mac.blocks(&[framing::lengths(aad_len, len)]);
        mac.tag()
    }

    /// Checks the tag of a ciphertext, and only then decrypts it. Returns whether the tag was
    /// right; nothing is written if it was not.
    pub(super) fn open<M: Message>(&self, aad: &[u8], message: M, tag: &[u8; 16]) -> bool {
        // Up to a whole pass: the keystream is made in the same run as block 0, which is among the
        // blocks of the pass, woven into it, or apart, and waits. Room for no more than is needed,
        // since all of it is made, and wiped, for each message.
        let pass = self.cores.chacha.longest_pass();
        match 1 + message.len().div_ceil(64) {
            2..=5 => self.open_in_one_pass::<4, M>(aad, message, tag),
            6..=9 => self.open_in_one_pass::<8, M>(aad, message, tag),
            10..=17 if pass >= 16 => self.open_in_one_pass::<16, M>(aad, message, tag),
            18..=33 if pass >= 32 => self.open_in_one_pass::<32, M>(aad, message, tag),
            _ => self.open_long(aad, message, tag),
        }
    }

    /// A message of at most `BLOCKS` blocks.
    fn open_in_one_pass<const BLOCKS: usize, M: Message>(
        &self,
        aad: &[u8],
        message: M,
        tag: &[u8; 16],
    ) -> bool {
        let (mut block, mut blocks) = ([0; 64], [[0; 64]; BLOCKS]);
        let keystream = &mut blocks.as_flattened_mut()[..message.len()];
        self.cores.chacha.run(&self.state, 0, Some(&mut block), Keystream(keystream));
        let right = self.cores.open_with(&block, keystream, aad, message, tag);
        block.as_mut_slice().zeroize();
        blocks.as_flattened_mut().zeroize();
        right
    }

    fn open_long<M: Message>(&self, aad: &[u8], message: M, tag: &[u8; 16]) -> bool {
        let chacha = self.cores.chacha;
        let mut block = [0; 64];
        chacha.run(&self.state, 0, Some(&mut block), Keystream(&mut []));
        let right = tags_are_equal(&self.cores.tag(key(&block), aad, message.input()), tag);
        block.as_mut_slice().zeroize();
        if right {
            chacha.run(&self.state, 1, None, message);
        }
        right
    }

    /// Encrypts the parts one after the other into `out`, which is as long as they are together,
    /// and gives the tag. They are copied there first: part by part, each would start and end inside a
    /// block, and 512 bytes in three parts took four times as long (Zen 5).
    pub(super) fn seal_gather(&self, aad: &[&[u8]], parts: &[&[u8]], out: &mut [u8]) -> [u8; 16] {
        let mut rest = &mut *out;
        for part in parts {
            rest.split_off_mut(..part.len())
                .expect("the length has been checked")
                .copy_from_slice(part);
        }
        self.seal_parts(aad, InPlace(out))
    }

    /// Poly1305 under the first half of block 0 (RFC 8439, section 2.6).
    #[inline]
    pub(super) fn authenticator(&self, block: &mut [u8; 64]) -> Accumulator {
        let accumulator = Accumulator::new(self.cores.poly1305, key(block));
        block.as_mut_slice().zeroize();
        accumulator
    }
}

/// The Poly1305 key in block 0 (RFC 8439, section 2.6).
#[inline]
fn key(block: &[u8; 64]) -> &[u8; 32] {
    block.first_chunk().expect("32 of 64 bytes")
}

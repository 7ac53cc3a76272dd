//! Many packets at once: the blocks that fill no pass of their own share one.
//!
//! ```text
//! packet a   | 0 | 1 |                                 0: makes the Poly1305 key
//! packet b   | 0 | 1  2  3  4  5  6  7  8 | 9 |        whole passes: one packet alone
//! packet c   | 0 |
//!
//! lanes      | a0 a1 b0 b9 c0 ...
//! ```
//!
//! 1. Packets are taken in groups, so that everything fits on the stack.
//! 2. To seal, a group is encrypted and then authenticated. To open, the keys come first, then the
//!    verdicts, and only packets that are genuine are decrypted.
//! 3. Where lanes would need as many passes as the packets do alone, each packet goes alone.

use core::{array, iter};

use zeroize::Zeroize;

use super::whole::{Cores, Whole};
use super::{ChaCha20Poly1305, Error, framing};
use crate::chacha::batch::MOST_LANES;
use crate::chacha::data::{InPlace, xor};
use crate::chacha::{self, State};
use crate::poly1305::{self, tags_are_equal};

/// One packet of a batch, sealed and opened in place, its tag apart.
#[derive(Debug)]
pub struct Packet<'a, const N: usize = 12> {
    /// Never the same twice under one key.
    pub nonce: [u8; N],
    /// What is authenticated and not encrypted.
    pub aad: &'a [u8],
    /// The message before sealing and after opening, the ciphertext between.
    pub in_out: &'a mut [u8],
    /// Written by sealing, read by opening.
    pub tag: [u8; 16],
}

/// Seals packets that have a key each: as [`ChaCha20Poly1305::seal_batch`].
///
/// # Errors
///
/// [`Error`] if a message is longer than [`MAX_LEN`](ChaCha20Poly1305::MAX_LEN) bytes; nothing is
/// written to any packet.
///
/// # Security
///
/// No two packets may have the same key and the same nonce.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{ChaCha20Poly1305, Packet, open_batch_keyed, seal_batch_keyed};
///
/// let (alice, bob) = (ChaCha20Poly1305::from_key(&[1; 32]), ChaCha20Poly1305::from_key(&[2; 32]));
/// let (mut to_alice, mut to_bob) = (*b"hello, Alice", *b"hello, Bob");
/// let mut packets = [
///     (&alice, Packet { nonce: [0; 12], aad: b"", in_out: &mut to_alice, tag: [0; 16] }),
///     (&bob, Packet { nonce: [0; 12], aad: b"", in_out: &mut to_bob, tag: [0; 16] }),
/// ];
/// seal_batch_keyed(&mut packets)?;
/// let mut ok = [false; 2];
/// assert_eq!(open_batch_keyed(&mut packets, &mut ok)?, 2);
/// assert_eq!(&to_bob, b"hello, Bob");
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
pub fn seal_batch_keyed(packets: &mut [(&ChaCha20Poly1305, Packet<'_>)]) -> Result<(), Error> {
    check(packets)?;
    if let [(first, _), ..] = packets {
        seal(first.cores, packets, |(cipher, packet)| cipher.under(&packet.nonce));
    }
    Ok(())
}

/// Opens packets that have a key each: as [`ChaCha20Poly1305::open_batch`].
///
/// # Errors
///
/// [`Error`] if `ok` is not as long as `packets`, or a message longer than
/// [`MAX_LEN`](ChaCha20Poly1305::MAX_LEN) bytes; nothing is written.
///
/// # Examples
///
/// See [`seal_batch_keyed`].
pub fn open_batch_keyed(
    packets: &mut [(&ChaCha20Poly1305, Packet<'_>)],
    ok: &mut [bool],
) -> Result<usize, Error> {
    check_verdicts(packets, ok)?;
    let Some((first, _)) = packets.first() else { return Ok(0) };
    Ok(open(first.cores, packets, ok, |(cipher, packet)| cipher.under(&packet.nonce)))
}

/// A packet, with its key beside it or without.
pub(super) trait Entry {
    /// The AAD and the message.
    fn parts(&self) -> [&[u8]; 2];

    fn body(&mut self) -> Body<'_>;
}

/// A packet but for its nonce.
pub(super) struct Body<'p> {
    aad: &'p [u8],
    in_out: &'p mut [u8],
    tag: &'p mut [u8; 16],
}

impl<const N: usize> Entry for Packet<'_, N> {
    fn parts(&self) -> [&[u8]; 2] {
        [self.aad, self.in_out]
    }

    fn body(&mut self) -> Body<'_> {
        Body { aad: self.aad, in_out: self.in_out, tag: &mut self.tag }
    }
}

impl Entry for (&ChaCha20Poly1305, Packet<'_>) {
    fn parts(&self) -> [&[u8]; 2] {
        self.1.parts()
    }

    fn body(&mut self) -> Body<'_> {
        self.1.body()
    }
}

/// Checks the lengths of all packets.
pub(super) fn check<E: Entry>(packets: &[E]) -> Result<(), Error> {
    packets.iter().try_for_each(|packet| framing::check(packet.parts()[1].len()))
}

/// Checks the lengths of all packets, and that there is room for one verdict each.
pub(super) fn check_verdicts<E: Entry>(packets: &[E], ok: &[bool]) -> Result<(), Error> {
    check(packets)?;
    if ok.len() == packets.len() { Ok(()) } else { Err(Error(())) }
}

/// Seals packets whose lengths have been checked.
pub(super) fn seal<E: Entry>(cores: Cores, packets: &mut [E], under: impl Fn(&E) -> Whole) {
    for packets in packets.chunks_mut(GROUP) {
        let plan = Plan::new(cores.chacha, packets);
        let all = 0..packets.len();
        let lanes = all.clone().flat_map(|i| iter::once((i, 0)).chain(plan.rest(i)));
        if plan.passes(lanes.clone()) < packets.len() {
            let mut group = Group::new(cores, packets, &under);
            group.apply_whole_passes(&plan, all);
            group.apply_lanes(lanes);
            let tags = group.tags();
            for (packet, tag) in group.packets.iter_mut().zip(tags) {
                *packet.body().tag = tag;
            }
        } else {
            for packet in packets {
                let whole = under(packet);
                let Body { aad, in_out, tag } = packet.body();
                *tag = whole.seal(aad, InPlace(in_out));
            }
        }
    }
}

/// Opens packets whose lengths have been checked, and says of each whether it is genuine; returns
/// how many are. The others are left as they are.
pub(super) fn open<E: Entry>(
    cores: Cores,
    packets: &mut [E],
    ok: &mut [bool],
    under: impl Fn(&E) -> Whole,
) -> usize {
    for (packets, ok) in packets.chunks_mut(GROUP).zip(ok.chunks_mut(GROUP)) {
        let plan = Plan::new(cores.chacha, packets);
        let all = 0..packets.len();
        let keys = all.clone().map(|i| (i, 0));
        let rests = all.clone().flat_map(|i| plan.rest(i));
        if plan.passes(keys.clone()) + plan.passes(rests) < packets.len() {
            let mut group = Group::new(cores, packets, &under);
            group.apply_lanes(keys);
            let tags = group.tags();
            for ((ok, packet), tag) in ok.iter_mut().zip(&mut *group.packets).zip(tags) {
                *ok = tags_are_equal(packet.body().tag, &tag);
            }
            let genuine = all.filter(|i| ok[*i]);
            group.apply_whole_passes(&plan, genuine.clone());
            group.apply_lanes(genuine.flat_map(|i| plan.rest(i)));
        } else {
            for (packet, ok) in packets.iter_mut().zip(ok) {
                let whole = under(packet);
                let Body { aad, in_out, tag } = packet.body();
                *ok = whole.open(aad, InPlace(in_out), tag);
            }
        }
    }
    ok.iter().filter(|ok| **ok).count()
}

/// How many packets are worked on together.
const GROUP: usize = MOST_LANES;

/// Which blocks of each packet share passes with others.
struct Plan {
    /// The blocks of a pass.
    pass: usize,
    /// Those blocks: the first, and their end. The blocks from 1 on before it fill whole passes.
    rests: [(u64, u64); GROUP],
}

impl Plan {
    fn new<E: Entry>(chacha: chacha::Core, packets: &[E]) -> Self {
        let pass = chacha.pass_blocks();
        let mut rests = [(1, 1); GROUP];
        for (rest, packet) in rests.iter_mut().zip(packets) {
            let len = packet.parts()[1].len();
            *rest = (1 + (len / 64 / pass * pass) as u64, 1 + len.div_ceil(64) as u64);
        }
        Self { pass, rests }
    }

    /// Lanes: the packet's number in the group, and the blocks'.
    fn rest(&self, i: usize) -> impl Iterator<Item = (usize, u64)> + Clone + use<> {
        let (first, end) = self.rests[i];
        (first..end).map(move |block| (i, block))
    }

    /// How many passes so many lanes take.
    fn passes(&self, lanes: impl Iterator) -> usize {
        lanes.count().div_ceil(self.pass)
    }
}

/// Packets that are worked on together.
struct Group<'g, E> {
    cores: Cores,
    packets: &'g mut [E],
    wholes: [Option<Whole>; GROUP],
    /// The Poly1305 keys.
    keys: [[u8; 32]; GROUP],
}

impl<'g, E: Entry> Group<'g, E> {
    fn new(cores: Cores, packets: &'g mut [E], under: impl Fn(&E) -> Whole) -> Self {
        let wholes = array::from_fn(|i| packets.get(i).map(&under));
        Self { cores, packets, wholes, keys: [[0; 32]; GROUP] }
    }

    /// Puts the keystream of their whole passes to these packets.
    fn apply_whole_passes(&mut self, plan: &Plan, packets: impl Iterator<Item = usize>) {
        for i in packets {
            let whole = 64 * (plan.rests[i].0 - 1) as usize;
            if whole > 0 {
                let data = InPlace(&mut self.packets[i].body().in_out[..whole]);
                self.cores.chacha.run(state(&self.wholes, i), 1, None, data);
            }
        }
    }

    /// Makes the blocks of these lanes: block 0 becomes its packet's Poly1305 key, the others are
    /// put to the packet.
    fn apply_lanes(&mut self, mut lanes: impl Iterator<Item = (usize, u64)>) {
        let mut blocks = [[0; 64]; MOST_LANES];
        loop {
            let mut names = [(0, 0); MOST_LANES];
            let count = names.iter_mut().zip(&mut lanes).map(|(name, lane)| *name = lane).count();
            if count == 0 {
                break;
            }
            let states = names.map(|(i, block)| (state(&self.wholes, i), block));
            self.cores.chacha.lanes(&states[..count], &mut blocks);
            for ((i, number), block) in names.into_iter().zip(&blocks).take(count) {
                if number == 0 {
                    self.keys[i].copy_from_slice(&block[..32]);
                } else {
                    let bytes = &mut self.packets[i].body().in_out[64 * (number as usize - 1)..];
                    let len = bytes.len().min(64);
                    xor(&mut bytes[..len], &block[..len]);
                }
            }
        }
        blocks.as_flattened_mut().zeroize();
    }

    /// The tag of each packet. Those of about the same length go side by side.
    fn tags(&self) -> [[u8; 16]; GROUP] {
        let count = self.packets.len();
        let mut order: [usize; GROUP] = array::from_fn(|i| i.min(count - 1));
        order[..count].sort_unstable_by_key(|i| self.packets[*i].parts()[1].len());
        let messages = order.map(|i| {
            let parts @ [aad, message] = self.packets[i].parts();
            let last = framing::lengths(aad.len(), message.len());
            poly1305::batch::Message { key: &self.keys[i], parts, last }
        });
        let mut in_order = [[0; 16]; GROUP];
        self.cores.poly1305.batch(&messages[..count], &mut in_order[..count]);
        let mut tags = [[0; 16]; GROUP];
        for (i, tag) in order.into_iter().zip(in_order).take(count) {
            tags[i] = tag;
        }
        tags
    }
}

/// The state of packet `i` at its block 0.
fn state(wholes: &[Option<Whole>; GROUP], i: usize) -> &State {
    &wholes[i].as_ref().expect("a packet of the group").state
}

impl<E> Drop for Group<'_, E> {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().zeroize();
    }
}

#[cfg(all(test, feature = "force-backend"))]
mod tests;

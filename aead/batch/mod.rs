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

mod pass;

use core::array;

use zeroize::Zeroize;

use self::pass::{GROUP, Pass, Plan, Room, Starts};
use super::whole::{Cores, Whole};
use super::{ChaCha20Poly1305, Error, XChaCha20Poly1305, framing};
use crate::chacha;
use crate::chacha::batch::{Keys, Lanes, MOST_LANES, Place};
use crate::chacha::data::InPlace;
use crate::poly1305::{self, tags_are_equal};

/// One packet of a batch, sealed and opened in place, its tag apart.
///
/// # Examples
///
/// ```
/// use keyspring::aead::{ChaCha20Poly1305, Packet};
///
/// let mut message = *b"ping";
/// let packet = Packet { nonce: [1; 12], aad: b"", in_out: &mut message, tag: [0; 16] };
/// ChaCha20Poly1305::from_key(&[7; 32]).seal_batch(&mut [packet])?;
/// # Ok::<(), keyspring::aead::Error>(())
/// ```
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
        seal(first.cores, packets, Keyed);
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
    Ok(open(first.cores, packets, ok, Keyed))
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

/// Where the keys of packets come from.
pub(super) trait Under<E>: Copy {
    /// Whether all packets have one key.
    const ONE_KEY: bool;

    /// Derives the keys of packets, where they are derived.
    fn derive(self, _cores: Cores, _packets: &[E], _room: &mut Room) {}

    /// The place of a packet's block 0.
    fn start(self, packet: &E) -> Place;

    /// The key that belongs to it.
    fn key<'a>(self, packet: &E, room: &'a [u8; 32]) -> &'a [u8; 32]
    where
        Self: 'a,
        E: 'a;

    /// A packet alone.
    fn whole(self, packet: &E) -> Whole;
}

impl Under<Packet<'_>> for &ChaCha20Poly1305 {
    const ONE_KEY: bool = true;

    #[inline]
    fn start(self, packet: &Packet<'_>) -> Place {
        Place::start(&packet.nonce)
    }

    #[inline]
    fn key<'a>(self, _: &Packet<'_>, _: &'a [u8; 32]) -> &'a [u8; 32]
    where
        Self: 'a,
    {
        &self.key
    }

    fn whole(self, packet: &Packet<'_>) -> Whole {
        self.under(&packet.nonce)
    }
}

/// HChaCha20 derives a key for each nonce.
impl Under<Packet<'_, 24>> for &XChaCha20Poly1305 {
    const ONE_KEY: bool = false;

    /// In lanes: a block is HChaCha20 and the feed-forward, of which the words that count are public.
    fn derive(self, cores: Cores, packets: &[Packet<'_, 24>], Room(room): &mut Room) {
        let mut places = [Place::default(); MOST_LANES];
        for (place, packet) in places.iter_mut().zip(packets) {
            *place = Place::of_input(chacha::split_xnonce(&packet.nonce).0);
        }
        let mut blocks = [[0; 64]; MOST_LANES];
        let lanes = Lanes { keys: Keys::One(&self.key), places: &places, count: packets.len() };
        cores.chacha.lanes(lanes, &mut blocks);
        for ((room, block), place) in room.iter_mut().zip(&blocks).zip(&places).take(packets.len())
        {
            place.undo_feed_forward(block, room);
        }
        blocks.as_flattened_mut().zeroize();
    }

    fn start(self, packet: &Packet<'_, 24>) -> Place {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(chacha::split_xnonce(&packet.nonce).1);
        Place::start(&nonce)
    }

    fn key<'a>(self, _: &Packet<'_, 24>, room: &'a [u8; 32]) -> &'a [u8; 32]
    where
        Self: 'a,
    {
        room
    }

    fn whole(self, packet: &Packet<'_, 24>) -> Whole {
        self.under(&packet.nonce)
    }
}

/// Packets that bring theirs with them.
#[derive(Clone, Copy)]
struct Keyed;

impl<'c, 'p> Under<(&'c ChaCha20Poly1305, Packet<'p>)> for Keyed {
    const ONE_KEY: bool = false;

    fn start(self, (_, packet): &(&'c ChaCha20Poly1305, Packet<'p>)) -> Place {
        Place::start(&packet.nonce)
    }

    fn key<'a>(
        self,
        (cipher, _): &(&'c ChaCha20Poly1305, Packet<'p>),
        _: &'a [u8; 32],
    ) -> &'a [u8; 32]
    where
        (&'c ChaCha20Poly1305, Packet<'p>): 'a,
    {
        &cipher.key
    }

    fn whole(self, (cipher, packet): &(&'c ChaCha20Poly1305, Packet<'p>)) -> Whole {
        cipher.under(&packet.nonce)
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
pub(super) fn seal<E: Entry>(cores: Cores, packets: &mut [E], under: impl Under<E>) {
    for packets in packets.chunks_mut(GROUP) {
        let plan = Plan::new(cores.chacha, packets);
        if plan.passes(plan.blocks()) < packets.len() {
            apply_whole_passes(cores, &plan, packets, under, |_| true);
            let mut room = Room::new();
            let starts = Starts::new(cores, packets, under, &mut room);
            let (mut pass, mut keys) = (Pass::new(), Room::new());
            let mut stretches = plan.all();
            while pass.make(cores.chacha, &starts, &mut stretches) {
                pass.take_keys(&mut keys);
                pass.put(packets, |_| true);
            }
            let tags = tags(cores, packets, &keys);
            for (packet, tag) in packets.iter_mut().zip(tags) {
                *packet.body().tag = tag;
            }
        } else {
            for packet in packets {
                let whole = under.whole(packet);
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
    under: impl Under<E>,
) -> usize {
    for (packets, ok) in packets.chunks_mut(GROUP).zip(ok.chunks_mut(GROUP)) {
        let plan = Plan::new(cores.chacha, packets);
        let (count, blocks) = (packets.len(), plan.blocks());
        // What fits beside the blocks 0 is made with them, and waits for the verdicts.
        let at_once = blocks <= MOST_LANES;
        let passes = if at_once {
            plan.passes(blocks)
        } else {
            plan.passes(count) + plan.passes(blocks - count)
        };
        if passes < count {
            let mut room = Room::new();
            let starts = Starts::new(cores, packets, under, &mut room);
            let (mut pass, mut keys) = (Pass::new(), Room::new());
            let mut stretches = if at_once { plan.all() } else { plan.keys() };
            pass.make(cores.chacha, &starts, &mut stretches);
            pass.take_keys(&mut keys);
            let tags = tags(cores, packets, &keys);
            for ((ok, packet), tag) in ok.iter_mut().zip(&mut *packets).zip(tags) {
                *ok = tags_are_equal(packet.body().tag, &tag);
            }
            apply_whole_passes(cores, &plan, packets, under, |i| ok[i]);
            if at_once {
                pass.put(packets, |i| ok[i]);
            } else {
                let mut stretches = plan.rests(|i| ok[i]);
                while pass.make(cores.chacha, &starts, &mut stretches) {
                    pass.put(packets, |_| true);
                }
            }
        } else {
            for (packet, ok) in packets.iter_mut().zip(ok) {
                let whole = under.whole(packet);
                let Body { aad, in_out, tag } = packet.body();
                *ok = whole.open(aad, InPlace(in_out), tag);
            }
        }
    }
    ok.iter().filter(|ok| **ok).count()
}

/// Puts the keystream of their whole passes to these packets, the last of which a message may end in.
fn apply_whole_passes<E: Entry>(
    cores: Cores,
    plan: &Plan,
    packets: &mut [E],
    under: impl Under<E>,
    which: impl Fn(usize) -> bool,
) {
    for (i, packet) in packets.iter_mut().enumerate() {
        let blocks = plan.rests[i].first - 1;
        if blocks > 0 && which(i) {
            let whole = under.whole(packet);
            let bytes = packet.body().in_out;
            let len = bytes.len().min(64 * blocks as usize);
            cores.chacha.run(&whole.state, 1, None, InPlace(&mut bytes[..len]));
        }
    }
}

/// The tag of each packet. Those of about the same length go side by side.
fn tags<E: Entry>(cores: Cores, packets: &[E], Room(keys): &Room) -> [[u8; 16]; GROUP] {
    let count = packets.len();
    let mut order: [usize; GROUP] = array::from_fn(|i| i.min(count - 1));
    let len = |i: &usize| packets[*i].parts()[1].len();
    if !order.is_sorted_by_key(len) {
        order[..count].sort_unstable_by_key(len);
    }
    let messages: [_; GROUP] = array::from_fn(|place| {
        let i = order[place];
        let parts @ [aad, message] = packets[i].parts();
        let last = framing::lengths(aad.len(), message.len());
        poly1305::batch::Message { key: &keys[i], parts, last }
    });
    let mut in_order = [[0; 16]; GROUP];
    cores.poly1305.batch(&messages[..count], &mut in_order[..count]);
    let mut tags = [[0; 16]; GROUP];
    for (i, tag) in order.into_iter().zip(in_order).take(count) {
        tags[i] = tag;
    }
    tags
}

#[cfg(all(test, feature = "force-backend"))]
mod tests;

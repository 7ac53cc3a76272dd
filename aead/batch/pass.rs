//! Which blocks of which packets go through ChaCha20 together, and where they go from there.

use zeroize::Zeroize;

use super::{Cores, Entry, Under};
use crate::chacha;
use crate::chacha::batch::{Blocks, Keys, Lanes, MOST_LANES, Place};
use crate::chacha::data::xor;

/// How many packets are worked on together: as many as Poly1305 has lanes at the most.
pub(super) const GROUP: usize = 16;

/// Blocks of one packet that follow each other.
#[derive(Clone, Copy, Default)]
pub(super) struct Stretch {
    /// The packet's number in the group.
    packet: u16,
    count: u16,
    /// No message has more blocks.
    pub(super) first: u32,
}

/// Which blocks of each packet share passes with others: block 0, and those from some block on. What
/// is between fills whole passes.
pub(super) struct Plan {
    /// The blocks of a pass.
    pass: usize,
    packets: usize,
    pub(super) rests: [Stretch; GROUP],
}

impl Plan {
    pub(super) fn new<E: Entry>(chacha: chacha::Core, packets: &[E]) -> Self {
        let pass = chacha.longest_pass();
        let mut rests = [Stretch::default(); GROUP];
        for (i, packet) in packets.iter().enumerate() {
            let blocks = packet.parts()[1].len().div_ceil(64);
            // A remainder, by a power of two.
            let count = blocks & (pass - 1);
            let first = 1 + (blocks - count) as u32;
            rests[i] = Stretch { packet: i as u16, count: count as u16, first };
        }
        Self { pass, packets: packets.len(), rests }
    }

    /// How many blocks share passes.
    pub(super) fn blocks(&self) -> usize {
        self.packets + self.rests.iter().map(|rest| usize::from(rest.count)).sum::<usize>()
    }

    /// How many passes so many blocks take.
    pub(super) fn passes(&self, blocks: usize) -> usize {
        blocks.div_ceil(self.pass)
    }

    /// Block 0 of each packet.
    pub(super) fn keys(&self) -> Stretches {
        self.stretches(|rest| Stretch { first: 0, count: 1, ..rest })
    }

    /// What is no whole pass, of these packets.
    pub(super) fn rests(&self, which: impl Fn(usize) -> bool) -> Stretches {
        self.stretches(|rest| if which(rest.packet.into()) { rest } else { Stretch::default() })
    }

    /// Both. Block 0 stands apart only where whole passes lie between.
    pub(super) fn all(&self) -> Stretches {
        let mut all = self.stretches(|rest| match rest {
            Stretch { first: 1, count, .. } => Stretch { first: 0, count: count + 1, ..rest },
            _ => rest,
        });
        for rest in &self.rests[..self.packets] {
            if rest.first > 1 {
                all.stretches[all.len] = Stretch { first: 0, count: 1, ..*rest };
                all.len += 1;
            }
        }
        all
    }

    fn stretches(&self, of: impl Fn(Stretch) -> Stretch) -> Stretches {
        let mut stretches = [Stretch::default(); 2 * GROUP];
        for (stretch, rest) in stretches.iter_mut().zip(&self.rests[..self.packets]) {
            *stretch = of(*rest);
        }
        Stretches { stretches, len: self.packets, at: 0 }
    }
}

/// Stretches that have yet to be made.
pub(super) struct Stretches {
    stretches: [Stretch; 2 * GROUP],
    len: usize,
    at: usize,
}

impl Stretches {
    /// Takes off the next stretch, or as many blocks of it as there is room for.
    fn take(&mut self, room: usize) -> Option<Stretch> {
        while self.at < self.len {
            let left = &mut self.stretches[self.at];
            if left.count > 0 {
                let taken = Stretch { count: left.count.min(room as u16), ..*left };
                left.first += u32::from(taken.count);
                left.count -= taken.count;
                return (room > 0).then_some(taken);
            }
            self.at += 1;
        }
        None
    }
}

/// A key for each packet. Wiped on drop.
pub(in crate::aead) struct Room(pub(super) [[u8; 32]; GROUP]);

impl Room {
    pub(super) fn new() -> Self {
        Self([[0; 32]; GROUP])
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

/// Where the keystream of each packet starts.
pub(super) struct Starts<'a> {
    one_key: bool,
    keys: [&'a [u8; 32]; GROUP],
    places: [Place; GROUP],
}

impl<'a> Starts<'a> {
    /// Keys that are derived lie in `room`.
    pub(super) fn new<E: 'a, U: Under<E> + 'a>(
        cores: Cores,
        packets: &[E],
        under: U,
        room: &'a mut Room,
    ) -> Self {
        under.derive(cores, packets, room);
        let Room(room) = room;
        let mut places = [Place::default(); GROUP];
        for (place, packet) in places.iter_mut().zip(packets) {
            *place = under.start(packet);
        }
        let mut keys = [&room[0]; GROUP];
        for ((key, packet), room) in keys.iter_mut().zip(packets).zip(room.iter()) {
            *key = under.key(packet, room);
        }
        Self { one_key: U::ONE_KEY, keys, places }
    }
}

/// The blocks of one call, and whose they are.
pub(super) struct Pass {
    stretches: [Stretch; MOST_LANES],
    len: usize,
    blocks: Blocks,
}

impl Pass {
    pub(super) fn new() -> Self {
        Self { stretches: [Stretch::default(); MOST_LANES], len: 0, blocks: [[0; 64]; MOST_LANES] }
    }

    /// Makes the next blocks, if there are any.
    pub(super) fn make(
        &mut self,
        chacha: chacha::Core,
        starts: &Starts<'_>,
        stretches: &mut Stretches,
    ) -> bool {
        self.len = 0;
        let mut places = [Place::default(); MOST_LANES];
        let mut keys = [starts.keys[0]; MOST_LANES];
        let mut count = 0;
        while let Some(stretch) = stretches.take(MOST_LANES - count) {
            let (packet, end) = (usize::from(stretch.packet), count + usize::from(stretch.count));
            let start = starts.places[packet];
            for (place, number) in places[count..end].iter_mut().zip(u64::from(stretch.first)..) {
                *place = start.block(number);
            }
            if !starts.one_key {
                keys[count..end].fill(starts.keys[packet]);
            }
            self.stretches[self.len] = stretch;
            self.len += 1;
            count = end;
        }
        if count > 0 {
            let keys = if starts.one_key { Keys::One(keys[0]) } else { Keys::Each(&keys) };
            chacha.lanes(Lanes { keys, places: &places, count }, &mut self.blocks);
        }
        count > 0
    }

    /// Takes the Poly1305 keys out of the blocks 0.
    pub(super) fn take_keys(&self, Room(keys): &mut Room) {
        for (stretch, keystream) in self.keystreams() {
            if stretch.first == 0 {
                keys[usize::from(stretch.packet)].copy_from_slice(&keystream[0][..32]);
            }
        }
    }

    /// Puts the other blocks to these packets.
    pub(super) fn put<E: Entry>(&self, packets: &mut [E], which: impl Fn(usize) -> bool) {
        for (Stretch { packet, first, .. }, mut keystream) in self.keystreams() {
            if first == 0 {
                keystream = &keystream[1..];
            }
            let packet = usize::from(packet);
            if which(packet) {
                let at = 64 * first.saturating_sub(1) as usize;
                let bytes = &mut packets[packet].body().in_out[at..];
                let len = bytes.len().min(64 * keystream.len());
                xor(&mut bytes[..len], &keystream.as_flattened()[..len]);
            }
        }
    }

    /// Each stretch and its keystream.
    fn keystreams(&self) -> impl Iterator<Item = (Stretch, &[[u8; 64]])> {
        let mut rest = &self.blocks[..];
        self.stretches[..self.len].iter().map(move |stretch| {
            let (keystream, others) = rest.split_at(stretch.count.into());
            rest = others;
            (*stretch, keystream)
        })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.blocks.as_flattened_mut().zeroize();
    }
}

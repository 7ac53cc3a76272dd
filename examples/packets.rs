//! A tunnel as WireGuard has it: packets of one direction, numbered, sealed a batch at a time, over
//! UDP on the loopback interface. The receiver takes them in any order, and none twice.
//!
//! `cargo run --example packets`

use core::error::Error;
use core::net::Ipv4Addr;
use core::time::Duration;
use std::net::UdpSocket;

use keyspring::aead::{NonceSequence, Opener, Packet, Sealer};
use keyspring::crng;

/// The bytes of a packet, as of an MTU of 1420.
const LEN: usize = 1420;

/// The packets of a batch.
const BATCH: usize = 32;

const BATCHES: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let key = crng::key::<32>();
    let sequence = NonceSequence::CounterLittleEndian;
    let mut sealer = Sealer::new(key.as_bytes(), sequence);
    let mut opener = Opener::new(key.as_bytes(), sequence).reject_replays();

    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    receiver.set_read_timeout(Some(Duration::from_secs(5)))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(receiver.local_addr()?)?;

    let mut payloads = vec![[0; LEN]; BATCH];
    let (mut opened, mut refused) = (0, 0);
    for _ in 0..BATCHES {
        payloads.iter_mut().zip(1..).for_each(|(payload, i)| payload.fill(i));
        let packet = |in_out| Packet { nonce: [0; 12], aad: b"", in_out, tag: [0; 16] };
        let mut packets: Vec<Packet<'_>> =
            payloads.iter_mut().map(|payload| packet(payload.as_mut_slice())).collect();
        let first = sealer.seal_next_batch(&mut packets)?;

        // On the wire: number, ciphertext, tag. The last goes first, and the first goes twice.
        let mut datagrams: Vec<Vec<u8>> = packets
            .iter()
            .zip(first..)
            .map(|(packet, number)| [&number.to_le_bytes(), &*packet.in_out, &packet.tag].concat())
            .collect();
        datagrams.push(datagrams[0].clone());
        for datagram in datagrams.iter().rev() {
            sender.send(datagram)?;
        }

        let mut buffer = [0; 8 + LEN + 16];
        for _ in 0..=BATCH {
            let len = receiver.recv(&mut buffer)?;
            let (number, sealed) = buffer[..len].split_first_chunk_mut().ok_or("too short")?;
            let (payload, tag) = sealed.split_last_chunk_mut().ok_or("too short")?;
            match opener.open(u64::from_le_bytes(*number), b"", payload, tag) {
                Ok(()) => opened += payload.len(),
                Err(_) => refused += 1,
            }
        }
    }
    println!("{opened} bytes opened, {refused} packets refused");
    assert_eq!((opened, refused), (BATCHES * BATCH * LEN, BATCHES));
    Ok(())
}

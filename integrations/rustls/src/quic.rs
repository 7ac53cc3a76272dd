//! The packets of QUIC (RFC 9001, section 5).

use keyspring::chacha;
use keyspring::crng::SessionKey;
use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv, Nonce};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};

use crate::traffic::{KEY_LEN, TAG_LEN, Traffic, key_bytes};

/// The bytes of ciphertext that a header is masked by.
const SAMPLE_LEN: usize = 16;

/// The forged packets under one key after which a connection must end (RFC 9001, section 6.6).
const INTEGRITY_LIMIT: u64 = 1 << 36;

/// The algorithm: ChaCha20-Poly1305 for packets, ChaCha20 for headers.
pub(crate) struct Quic;

impl Algorithm for Quic {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(Packets(Traffic::new(&key, iv)))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Headers(SessionKey::from(*key_bytes(&key))))
    }

    fn aead_key_len(&self) -> usize {
        KEY_LEN
    }
}

/// One direction of a connection, its packets.
struct Packets(Traffic);

impl Packets {
    fn seal(&self, nonce: &Nonce, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(self.0.seal(nonce, header, payload)?.as_slice()))
    }

    fn open<'a>(
        &self,
        nonce: &Nonce,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let len = self.0.open(nonce, header, payload)?;
        Ok(&payload[..len])
    }

    fn nonce_on_path(&self, path_id: u32, packet_number: u64) -> Nonce {
        Nonce::for_path(path_id, &self.0.iv, packet_number)
    }
}

impl PacketKey for Packets {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(&self.0.nonce(packet_number), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(&self.nonce_on_path(path_id, packet_number), header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(&self.0.nonce(packet_number), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(&self.nonce_on_path(path_id, packet_number), header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    /// None: there are fewer packet numbers than packets that could be sealed (RFC 9001, section
    /// 6.6).
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
    }
}

/// One direction of a connection, the headers of its packets.
struct Headers(SessionKey<KEY_LEN>);

impl Headers {
    /// The first five bytes of the block that the sample chooses: its counter, then its nonce
    /// (RFC 9001, section 5.4.4).
    fn mask(&self, sample: &[u8]) -> Result<[u8; 5], Error> {
        let sample: &[u8; SAMPLE_LEN] =
            sample.try_into().map_err(|_| Error::General("a sample has 16 bytes".into()))?;
        let (counter, nonce) = sample.split_first_chunk().expect("4 of 16 bytes");
        let nonce = nonce.try_into().expect("the other 12");
        let block = chacha::block(self.0.as_bytes(), u32::from_le_bytes(*counter), nonce);
        Ok(*block.first_chunk().expect("5 of 64 bytes"))
    }

    /// Masks a header, or unmasks one: the low bits of the first byte, and as many bytes of the
    /// packet number as its last two bits say where they are not masked (section 5.4.1).
    fn apply(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
        masked: bool,
    ) -> Result<(), Error> {
        let [first_mask, mask @ ..] = self.mask(sample)?;
        if packet_number.len() > mask.len() {
            return Err(Error::General("a packet number has at most 4 bytes".into()));
        }
        // Five bits of a short header, four of a long one, which the highest bit tells.
        let protected = if *first & 0x80 == 0 { 0x1f } else { 0x0f };
        let flipped = *first ^ (first_mask & protected);
        let len = usize::from(if masked { flipped } else { *first } & 3) + 1;
        *first = flipped;
        packet_number.iter_mut().zip(mask).take(len).for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }
}

impl HeaderProtectionKey for Headers {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, false)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, true)
    }

    fn sample_len(&self) -> usize {
        SAMPLE_LEN
    }
}

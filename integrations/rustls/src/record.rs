//! The records of TLS 1.3 (RFC 8446, section 5.2) and TLS 1.2 (RFC 7905).

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, NONCE_LEN, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload,
    Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError, make_tls12_aad,
    make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion};

use crate::traffic::{KEY_LEN, TAG_LEN, Traffic};

/// The bytes of the longest message in a record (RFC 5246, section 6.2.1).
const MAX_MESSAGE_LEN: usize = 1 << 14;

/// The algorithm of TLS 1.3.
pub(crate) struct Tls13;

impl Tls13AeadAlgorithm for Tls13 {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Records13(Traffic::new(&key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Records13(Traffic::new(&key, iv)))
    }

    fn key_len(&self) -> usize {
        KEY_LEN
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv })
    }
}

/// One direction of a connection of TLS 1.3.
struct Records13(Traffic);

impl MessageEncrypter for Records13 {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let len = self.encrypted_payload_len(msg.payload.len());
        let mut payload = PrefixedPayload::with_capacity(len);
        payload.extend_from_chunks(&msg.payload);
        payload.extend_from_slice(&msg.typ.to_array());
        let tag = self.0.seal(&self.0.nonce(seq), &make_tls13_aad(len), payload.as_mut())?;
        payload.extend_from_slice(&tag);
        // The outer type and version are those of application data in TLS 1.2, whatever is inside
        // (RFC 8446, section 5.2).
        let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        Ok(OutboundOpaqueMessage::new(typ, version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + size_of::<u8>() + TAG_LEN
    }
}

impl MessageDecrypter for Records13 {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let aad = make_tls13_aad(msg.payload.len());
        let len = self.0.open(&self.0.nonce(seq), &aad, &mut msg.payload)?;
        msg.payload.truncate(len);
        msg.into_tls13_unpadded_message()
    }
}

/// The algorithm of TLS 1.2.
pub(crate) struct Tls12;

impl Tls12AeadAlgorithm for Tls12 {
    fn encrypter(&self, key: AeadKey, iv: &[u8], _: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(Records12(Traffic::new(&key, Iv::copy(iv))))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(Records12(Traffic::new(&key, Iv::copy(iv))))
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape { enc_key_len: KEY_LEN, fixed_iv_len: NONCE_LEN, explicit_nonce_len: 0 }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        _: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv: Iv::copy(iv) })
    }
}

/// One direction of a connection of TLS 1.2.
struct Records12(Traffic);

impl MessageEncrypter for Records12 {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let len = msg.payload.len();
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(len));
        payload.extend_from_chunks(&msg.payload);
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        let tag = self.0.seal(&self.0.nonce(seq), &aad, payload.as_mut())?;
        payload.extend_from_slice(&tag);
        Ok(OutboundOpaqueMessage::new(msg.typ, msg.version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + TAG_LEN
    }
}

impl MessageDecrypter for Records12 {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let len = msg.payload.len().checked_sub(TAG_LEN).ok_or(Error::DecryptError)?;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        self.0.open(&self.0.nonce(seq), &aad, &mut msg.payload)?;
        if len > MAX_MESSAGE_LEN {
            return Err(Error::PeerSentOversizedRecord);
        }
        msg.payload.truncate(len);
        Ok(msg.into_plain_message())
    }
}

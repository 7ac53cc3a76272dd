//! A signing key of ed25519-dalek 2, which draws by `rand_core` 0.6.

use ed25519_dalek::{Signer, SigningKey, Verifier};
use keyspring::crng;

fn main() -> Result<(), ed25519_dalek::SignatureError> {
    let key = SigningKey::generate(&mut crng::thread());
    let signature = key.sign(b"attack at dawn");
    key.verifying_key().verify(b"attack at dawn", &signature)?;
    assert!(key.verifying_key().verify(b"attack at dusk", &signature).is_err());
    println!("ed25519: signed and verified");
    Ok(())
}

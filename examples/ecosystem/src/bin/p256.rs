//! A signing key of p256 0.13, an old consumer of `rand_core` 0.6, out of a generator that the program
//! owns.

use keyspring::crng::Crng;
use p256::ecdsa::signature::{RandomizedSigner, Verifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut rng = Crng::builder().personalization(b"signatures").build()?;
    let key = SigningKey::random(&mut rng);
    let signature: Signature = key.try_sign_with_rng(&mut rng, b"attack at dawn")?;
    VerifyingKey::from(&key).verify(b"attack at dawn", &signature)?;
    println!("p256: signed and verified");
    Ok(())
}

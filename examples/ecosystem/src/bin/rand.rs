//! The distributions, orders and choices of rand 0.10, and of 0.9.

use keyspring::crng::{self, SeededCrng};
use rand::RngExt;
use rand::distr::{Alphanumeric, Bernoulli, SampleString};
use rand::seq::{IndexedRandom, SliceRandom};

fn main() -> Result<(), rand::distr::BernoulliError> {
    let mut rng = crng::thread();
    let word = Alphanumeric.sample_string(&mut rng, 20);
    let roll = rng.random_range(1..=6);
    let heads = rng.sample(Bernoulli::new(0.5)?);
    assert!(word.len() == 20 && (1..=6).contains(&roll));

    // The same stream again: the same order, in either version.
    let seed = [7; 32];
    let mut deck: Vec<u8> = (0..52).collect();
    let mut again = deck.clone();
    deck.shuffle(&mut SeededCrng::from_seed(seed));
    again.shuffle(&mut SeededCrng::from_seed(seed));
    assert_eq!(deck, again);
    let card = deck.choose(&mut rng);

    let old = rand_09::Rng::random_range(&mut crng::thread(), 1..=6);
    assert!((1..=6).contains(&old));
    println!("rand: {word}, {roll}, {heads}, {card:?}; rand 0.9: {old}");
    Ok(())
}

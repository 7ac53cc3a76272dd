//! Random UUIDs (version 4).

use keyspring::crng;
use uuid::{Builder, Variant};

fn main() {
    let [one, other] = [(); 2].map(|()| Builder::from_random_bytes(crng::bytes()).into_uuid());
    assert_eq!((one.get_version_num(), one.get_variant()), (4, Variant::RFC4122));
    assert_ne!(one, other);
    println!("uuid: {one}");
}

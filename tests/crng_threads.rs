//! Threads that draw while others add entropy, void every seed and take a restore for granted.

#![cfg(not(target_family = "wasm"))]

use std::collections::HashSet;
use std::thread;

use keyspring::aead::ChaCha20Poly1305;
use keyspring::crng;

/// What a thread does with the generators of all, between two draws.
const DISTURBANCES: [fn(); 4] = [
    crng::reseed_all,
    || crng::add_entropy(b"of little worth"),
    || crng::reseed().expect("there is entropy"),
    crng::on_restore,
];

#[test]
fn threads_draw_different_bytes_whatever_the_others_do() {
    const ROUNDS: usize = 100;
    let draw = |disturb: Option<fn()>| {
        let mut drawn = Vec::new();
        for _ in 0..ROUNDS {
            let mut long = [0; 1024 + 16];
            crng::fill(&mut long);
            drawn.extend(long.as_chunks::<16>().0);
            drawn.push(crng::bytes());
            drawn.extend(crng::session_key().as_bytes().as_chunks::<16>().0);
            disturb.inspect(|disturb| disturb());
        }
        drawn
    };
    let (mut all, mut seen) = (0, HashSet::new());
    thread::scope(|scope| {
        let quiet = [None; 4].into_iter();
        let threads: Vec<_> = quiet
            .chain(DISTURBANCES.map(Some))
            .map(|disturb| scope.spawn(move || draw(disturb)))
            .collect();
        for thread in threads {
            let drawn = thread.join().expect("the thread ends well");
            all += drawn.len();
            seen.extend(drawn);
        }
    });
    assert_eq!((all, seen.len()), (8 * ROUNDS * (65 + 1 + 16), all));
}

/// The choice of a backend is made once, by whichever thread comes first.
#[test]
fn threads_that_seal_first_at_once_agree() {
    let sealed = thread::scope(|scope| {
        let threads = [(); 8].map(|()| {
            scope.spawn(|| {
                let cipher = ChaCha20Poly1305::from_key(&[1; 32]);
                cipher.seal(&[2; 12], b"", &[3; 4096]).expect("it is short enough")
            })
        });
        threads.map(|thread| thread.join().expect("the thread ends well"))
    });
    assert!(sealed.iter().all(|one| *one == sealed[0]));
}

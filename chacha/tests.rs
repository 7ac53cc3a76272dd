//! The rows against the scalar one.

use std::vec;
use std::vec::Vec;

use super::backend::TABLE;
use super::batch::{Keys, Lanes, MOST_LANES, Place};
use super::data::{Apart, InPlace, Keystream};
use super::*;
use crate::cpu::{self, Row, Tuning, usable};

/// Bytes with period 251, so that no offset looks like another a block further.
fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

fn state_at(counter: u64) -> State {
    let state = State::with_nonce_64(&core::array::from_fn(|i| i as u8 * 3), &[5; 8], 10);
    State { counter, ..state.clone() }
}

/// The tunings that change what a given row does.
const TUNINGS: [Tuning; 2] = [Tuning::Plain, Tuning::Zen5];

/// Every usable row with each tuning. The scalar one is among them, so that a target without vectors
/// has something to check: modes, leads and sections.
fn cores() -> Vec<Core> {
    let cores: Vec<Core> = usable(TABLE)
        .map(Core::on)
        .flat_map(|core| TUNINGS.map(|tuning| core.tuned(tuning)))
        .collect();
    let rows = cores.len() / TUNINGS.len();
    let vectors = cfg!(any(
        all(target_arch = "x86_64", target_feature = "sse2"),
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
        all(target_arch = "wasm32", target_feature = "simd128"),
    ));
    assert!(rows > usize::from(vectors), "{rows} rows");
    #[cfg(target_arch = "x86_64")]
    {
        use std::is_x86_feature_detected as has;
        let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512vl");
        let promised = 2 + usize::from(has!("avx2")) + 2 * usize::from(avx512);
        assert_eq!(rows, promised, "rows");
    }
    cores
}

/// Keystream by the scalar row, a block at a time.
fn expected(state: &State, len: usize) -> Vec<u8> {
    let mut keystream = vec![0; len];
    for (block, bytes) in keystream.chunks_mut(64).enumerate() {
        let mut whole = [0; 64];
        let scalar = Core::on(cpu::last(TABLE));
        scalar.run(state, block as u64, Some(&mut whole), Keystream(&mut []));
        bytes.copy_from_slice(&whole[..bytes.len()]);
    }
    keystream
}

#[track_caller]
fn assert_same(got: &[u8], expected: &[u8], case: &str) {
    if let Some(at) = (0..expected.len()).find(|at| got[*at] != expected[*at]) {
        panic!("{case}: wrong from offset {at} on");
    }
}

fn xored(message: &[u8], keystream: &[u8]) -> Vec<u8> {
    message.iter().zip(keystream).map(|(m, k)| m ^ k).collect()
}

/// Every mode, with block 0 apart and without.
fn check(core: Core, state: &State, len: usize, case: &str) {
    check_against(core, state, &expected(state, 64 + len), len, case);
}

/// The same where the keystream, of 64 bytes more, is known.
fn check_against(core: Core, state: &State, keystream: &[u8], len: usize, case: &str) {
    let message = painted(len);
    let xored = |from: usize| xored(&message, &keystream[from..]);
    for from in [0, 64] {
        let mut block = [0; 64];
        let mut in_place = message.clone();
        core.run(state, 0, (from > 0).then_some(&mut block), InPlace(&mut in_place));
        assert_same(&in_place, &xored(from), &std::format!("{case}, in place from {from}"));
        let mut apart = vec![0xee; len];
        core.run(state, 0, (from > 0).then_some(&mut block), Apart::new(&message, &mut apart));
        assert_same(&apart, &xored(from), &std::format!("{case}, into from {from}"));
        let mut bare = vec![0xee; len];
        core.run(state, 0, (from > 0).then_some(&mut block), Keystream(&mut bare));
        assert_same(
            &bare,
            &keystream[from..from + len],
            &std::format!("{case}, keystream from {from}"),
        );
        assert_eq!(block[..from], keystream[..from], "{case}: block 0");
    }
}

#[test]
fn backends_agree_on_every_length() {
    let state = state_at(1);
    let keystream = expected(&state, 64 + 20_000);
    for core in cores() {
        for len in (0..=4097).chain([8128, 8192, 8256, 20_000]) {
            let case = std::format!("{} length {len}", core.name());
            check_against(core, &state, &keystream, len, &case);
        }
    }
}

/// Where the scalar row is faster with a single block, the core never asks the vector row for one.
#[test]
fn every_kernel_makes_a_single_block() {
    let state = state_at(u64::from(u32::MAX));
    for core in cores() {
        for len in 0..=64 {
            let (mut got, expected) = (vec![0xee; len], expected(&state, 64 + len));
            core.call_itself(&state, 1, Keystream(&mut got));
            assert_same(&got, &expected[64..], &std::format!("{} length {len}", core.name()));
        }
    }
}

/// A body and its blocks, as [`shapes::record`] has them.
type Shape = (&'static str, usize);

/// What must run for so many whole blocks, by the table in DESIGN.md: blocks, and the passes.
fn promised_shapes(
    row: &str,
    tuning: Tuning,
) -> &'static [(core::ops::RangeInclusive<usize>, &'static [Shape])] {
    match row {
        "avx512" if tuning == Tuning::Zen5 => &[
            (1..=1, &[("scalar", 1)]),
            (2..=4, &[("chains", 4)]),
            (5..=5, &[("woven chains", 4)]),
            (6..=9, &[("woven chains", 8)]),
            (10..=12, &[("chains", 12)]),
            (13..=16, &[("vertical", 16)]),
            (17..=17, &[("woven vertical", 16)]),
            (18..=32, &[("pair", 32)]),
            (33..=33, &[("woven pair", 32)]),
            (34..=36, &[("pair", 32), ("chains", 4)]),
            (37..=40, &[("pair", 32), ("chains", 8)]),
            (41..=44, &[("pair", 32), ("chains", 12)]),
            (45..=48, &[("pair", 32), ("vertical", 16)]),
            (49..=64, &[("pair", 32), ("pair", 32)]),
            (65..=65, &[("woven pair", 32), ("pair", 32)]),
        ],
        "avx512" => &[
            (1..=1, &[("chains", 1)]),
            (2..=4, &[("chains", 4)]),
            (5..=8, &[("chains", 8)]),
            (9..=16, &[("vertical", 16)]),
            (17..=17, &[("vertical", 16), ("chains", 1)]),
            (18..=20, &[("vertical", 16), ("chains", 4)]),
            (21..=24, &[("vertical", 16), ("chains", 8)]),
            (25..=31, &[("vertical", 16), ("vertical", 16)]),
            (32..=32, &[("pipelined", 32)]),
            (33..=33, &[("pipelined", 32), ("chains", 1)]),
            (63..=63, &[("pipelined", 48), ("vertical", 16)]),
            (64..=64, &[("pipelined", 64)]),
        ],
        "avx512vl" => &[
            (1..=1, &[("chains", 1)]),
            (2..=2, &[("chains", 2)]),
            (3..=4, &[("chains", 4)]),
            (5..=6, &[("chains", 6)]),
            (7..=8, &[("vertical", 8)]),
            (9..=9, &[("vertical", 8), ("chains", 1)]),
            (15..=15, &[("vertical", 8), ("vertical", 8)]),
            (16..=16, &[("pipelined", 16)]),
            (64..=64, &[("pipelined", 64)]),
        ],
        "avx2" if tuning == Tuning::Zen5 => &[
            (1..=1, &[("scalar", 1)]),
            (2..=2, &[("chains", 2)]),
            (3..=4, &[("chains", 4)]),
            (5..=6, &[("chains", 6)]),
            (7..=8, &[("vertical", 8)]),
            (9..=9, &[("woven", 1), ("vertical", 8)]),
            (10..=16, &[("pair", 16)]),
            (17..=17, &[("woven", 1), ("pair", 16)]),
            (18..=18, &[("pair", 16), ("chains", 2)]),
            (24..=24, &[("pair", 16), ("vertical", 8)]),
            (25..=25, &[("woven", 1), ("pair", 16), ("vertical", 8)]),
            (26..=32, &[("pair", 16), ("pair", 16)]),
        ],
        "avx2" => &[
            (1..=2, &[("chains", 2)]),
            (3..=4, &[("chains", 4)]),
            (5..=6, &[("chains", 6)]),
            (7..=8, &[("vertical", 8)]),
            (9..=10, &[("vertical", 8), ("chains", 2)]),
            (16..=16, &[("vertical", 8), ("vertical", 8)]),
        ],
        "sse2" | "simd128" => &[
            (1..=1, &[("chains", 1)]),
            (2..=2, &[("chains", 2)]),
            (3..=4, &[("vertical", 4)]),
            (5..=5, &[("vertical", 4), ("chains", 1)]),
            (8..=8, &[("vertical", 4), ("vertical", 4)]),
        ],
        "neon" => &[
            (1..=1, &[("scalar", 1)]),
            (2..=2, &[("chains", 2)]),
            (3..=4, &[("chains", 4)]),
            (5..=6, &[("chains", 6)]),
            (7..=8, &[("vertical", 8)]),
            (9..=9, &[("vertical", 8), ("scalar", 1)]),
        ],
        "scalar" => &[(1..=1, &[("scalar", 1)]), (2..=2, &[("scalar", 1), ("scalar", 1)])],
        other => panic!("{other}: no shapes are promised"),
    }
}

#[test]
fn each_length_runs_the_shape_that_is_promised() {
    let state = state_at(0);
    for core in usable(TABLE).map(Core::on) {
        for (range, promised) in promised_shapes(core.name(), Tuning::Plain) {
            for blocks in range.clone() {
                let mut bytes = vec![0; 64 * blocks];
                let ran = shapes::recorded(|| core.run(&state, 0, None, InPlace(&mut bytes)));
                assert_eq!(ran, *promised, "{}, {blocks} blocks", core.name());
            }
        }
        let zen5 = core.tuned(Tuning::Zen5);
        let one_too_many = match core.name() {
            "avx512" => "woven pair",
            "avx2" => "pair", // after the name of what is woven into it
            _ => "scalar",
        };
        for (blocks, body) in [(1, "scalar"), (zen5.longest_pass() + 1, one_too_many)] {
            let mut bytes = vec![0; 64 * blocks];
            let ran = shapes::recorded(|| zen5.run(&state, 0, None, InPlace(&mut bytes)));
            assert_eq!(ran.last().expect("a body").0, body, "{} on Zen 5", core.name());
        }
        if ["avx512", "avx2"].contains(&core.name()) {
            for (range, promised) in promised_shapes(core.name(), Tuning::Zen5) {
                for blocks in range.clone() {
                    let mut bytes = vec![0; 64 * blocks];
                    let ran = shapes::recorded(|| zen5.run(&state, 0, None, InPlace(&mut bytes)));
                    assert_eq!(ran, *promised, "{}, {blocks} blocks on Zen 5", core.name());
                }
            }
        }
    }
}

/// What is left for the last section may be a single block.
#[test]
fn a_single_block_behind_whole_sections_goes_scalar_on_zen5() {
    for core in usable(TABLE).map(Core::on).filter(|core| core.longest_pass() > 1) {
        let mut bytes = vec![0; (1 << 15) + 1]; // Whole sections of every row, and a byte.
        let zen5 = core.tuned(Tuning::Zen5);
        let ran = shapes::recorded(|| zen5.run(&state_at(0), 0, None, InPlace(&mut bytes)));
        assert_eq!(ran.last(), Some(&("scalar", 1)), "{} on Zen 5", core.name());
    }
}

/// A block apart takes no pass of its own.
#[test]
fn a_block_apart_shares_the_first_pass() {
    for core in usable(TABLE).map(Core::on) {
        for (range, promised) in promised_shapes(core.name(), Tuning::Plain) {
            let blocks = *range.start();
            // Only whole passes in a row are pipelined, and the first is not one of these.
            if promised[0].0 != "pipelined" {
                assert_eq!(
                    ran_with_a_lead(core, blocks - 1),
                    *promised,
                    "{} {blocks}",
                    core.name()
                );
            }
        }
    }
}

/// Nor on Zen 5, where it is woven into a pass, unless the pass is a pair that has room for it.
#[test]
fn a_block_apart_is_woven_into_the_first_pass() {
    type Promised = &'static [(core::ops::RangeInclusive<usize>, &'static [Shape])];
    const AVX512: Promised = &[
        (0..=0, &[("scalar", 1)]),
        (1..=4, &[("woven chains", 4)]),
        (5..=8, &[("woven chains", 8)]),
        (9..=16, &[("woven vertical", 16)]),
        (17..=31, &[("pair", 32)]),
        (32..=32, &[("woven pair", 32)]),
        (33..=35, &[("pair", 32), ("chains", 4)]),
        (48..=63, &[("pair", 32), ("pair", 32)]),
        (64..=64, &[("woven pair", 32), ("pair", 32)]),
    ];
    // Only a block that is one too many is woven.
    const AVX2: Promised = &[
        (0..=0, &[("scalar", 1)]),
        (1..=1, &[("chains", 2)]),
        (7..=7, &[("vertical", 8)]),
        (8..=8, &[("woven", 1), ("vertical", 8)]),
        (9..=15, &[("pair", 16)]),
        (16..=16, &[("woven", 1), ("pair", 16)]),
        (17..=17, &[("pair", 16), ("chains", 2)]),
        (24..=24, &[("woven", 1), ("pair", 16), ("vertical", 8)]),
        (32..=32, &[("woven", 1), ("pair", 16), ("pair", 16)]),
    ];
    for core in usable(TABLE).map(Core::on) {
        let promised = match core.name() {
            "avx512" => AVX512,
            "avx2" => AVX2,
            _ => continue,
        };
        for (range, promised) in promised {
            for blocks in range.clone() {
                let ran = ran_with_a_lead(core.tuned(Tuning::Zen5), blocks);
                assert_eq!(ran, *promised, "{}, {blocks} blocks and one apart", core.name());
            }
        }
    }
}

/// What runs for so many blocks and one apart.
fn ran_with_a_lead(core: Core, blocks: usize) -> Vec<Shape> {
    let (mut lead, mut bytes) = ([0; 64], vec![0; 64 * blocks]);
    shapes::recorded(|| core.run(&state_at(0), 0, Some(&mut lead), InPlace(&mut bytes)))
}

/// What no CPU here may have: a wide row where the tuning prefers narrow ones.
#[test]
fn a_tuning_to_256_bits_takes_no_wider_row() {
    let guard = cpu::force("scalar+ymm256").unwrap();
    assert_eq!(Core::new().name(), "scalar");
    drop(guard);
    for (forced, taken) in [("avx512", "avx512"), ("avx512+ymm256", "avx512vl")] {
        match cpu::force(forced) {
            Ok(_guard) => assert_eq!(Core::new().name(), taken),
            Err(_) => assert!(usable(TABLE).all(|row| row.level() < 29), "{forced} is usable"),
        }
    }
}

#[test]
fn counter_carries_into_word_13() {
    for core in cores() {
        // Every lane of the longest pass has its turn to carry first.
        for counter in 0xffff_ffd8..=0xffff_ffff_u64 {
            for len in [
                0, 1, 63, 64, 65, 128, 191, 256, 300, 384, 448, 512, 513, 700, 1024, 1100, 1500,
                2048, 2112, 3100,
            ] {
                let case = std::format!("{} counter {counter:#x} length {len}", core.name());
                check(core, &state_at(counter), len, &case);
            }
        }
        check(core, &state_at(u64::MAX - 3), 1024, core.name());
    }
}

/// The last 16 counters before the carry, with every length up to the longest pass and a block.
#[test]
fn counter_carries_at_every_length() {
    const LONGEST: usize = 2112;
    const FIRST: u64 = 0xffff_fff0;
    let keystream = expected(&state_at(FIRST), 15 * 64 + LONGEST);
    for core in cores() {
        for counter in FIRST..=0xffff_ffff {
            let keystream = &keystream[64 * (counter - FIRST) as usize..];
            let mut bytes = vec![0; LONGEST];
            for len in 0..=LONGEST {
                core.run(&state_at(counter), 0, None, Keystream(&mut bytes[..len]));
                let case = || std::format!("{} counter {counter:#x} length {len}", core.name());
                assert!(bytes[..len] == keystream[..len], "{}", case());
            }
        }
    }
}

/// A kernel that adds the number of a lane to what is a sum already would carry into word 13 where word 12
/// of a block is small, and one that adds it beforehand where it is large: one block in 2^28 shows it, so
/// these were searched for, and each comes to lie in every lane of every width.
#[test]
fn words_around_2_to_the_32_do_not_carry_into_the_next() {
    const SEARCHED: [(u64, u32); 4] =
        [(0xbf_2874, 5), (0xfda_b14e, 3), (0x8a2_8b05, u32::MAX - 3), (0x2a35_df84, u32::MAX - 3)];
    const MOST: u64 = 33;
    for (counter, word_12) in SEARCHED {
        let first = counter - MOST;
        let keystream = expected(&state_at(first), 64 * 2 * MOST as usize);
        let found = &keystream[64 * MOST as usize..][48..52];
        assert_eq!(found, word_12.to_le_bytes(), "block {counter:#x}");
        assert!(word_12.wrapping_add(15) < 30, "in the last 15 values, or in the first");
        for core in cores() {
            for lane in 0..MOST {
                let start = counter - lane;
                let keystream = &keystream[64 * (start - first) as usize..];
                for blocks in lane as usize + 1..=MOST as usize {
                    let mut bytes = vec![0; 64 * blocks];
                    core.run(&state_at(start), 0, None, Keystream(&mut bytes));
                    let case = std::format!("{} lane {lane} of {blocks}", core.name());
                    assert_same(&bytes, &keystream[..bytes.len()], &case);
                }
            }
        }
    }
}

/// Source and destination at every alignment, each at another; longer than what is asked for by 80 bytes
/// in front and behind, which stay as they were.
#[test]
fn every_alignment_gives_the_same_bytes() {
    let state = state_at(0);
    let keystream = expected(&state, 2100);
    for core in cores() {
        for len in [1, 15, 63, 64, 65, 130, 257, 700, 1100, 2100] {
            let (message, case) = (painted(len), std::format!("{} length {len}", core.name()));
            let expected = xored(&message, &keystream);
            for offset in 0..64 {
                let (from, to) = (80 + offset * 7 % 64, 80 + offset);
                let mut source = vec![0x55; from + len];
                source[from..].copy_from_slice(&message);
                let mut bytes = vec![0xaa; to + len + 80];
                for (mode, expected) in ["keystream", "apart", "in place"].into_iter().zip([
                    &keystream[..len],
                    &expected,
                    &expected,
                ]) {
                    let data = &mut bytes[to..to + len];
                    match mode {
                        "keystream" => core.run(&state, 0, None, Keystream(data)),
                        "apart" => core.run(&state, 0, None, Apart::new(&source[from..], data)),
                        _ => {
                            data.copy_from_slice(&message);
                            core.run(&state, 0, None, InPlace(data));
                        }
                    }
                    assert_same(data, expected, &std::format!("{case}, {mode}, at {offset}"));
                    let mut outside = bytes[..to].iter().chain(&bytes[to + len..]);
                    assert!(outside.all(|byte| *byte == 0xaa), "{case}, {mode}, at {offset}");
                }
            }
        }
    }
}

#[test]
fn reduced_rounds_agree() {
    for double_rounds in [4, 6] {
        let state = State::with_nonce_96(&[1; 32], &[2; 12], 3, double_rounds);
        for core in cores() {
            for len in [200, 500, 1000, 2048] {
                check(core, &state, len, core.name());
            }
        }
    }
}

/// The odd block that goes scalar starts where the others end.
#[test]
fn only_a_block_that_needs_its_own_pass_is_left_to_scalar() {
    for core in cores() {
        let zen5 = core.tuned(Tuning::Zen5);
        let pass = zen5.longest_pass();
        for blocks in 1..=3 * pass {
            let alone = pass > 1 && blocks % pass == 1;
            // These weave it into a pass, where there is one.
            let weaves = ["avx512", "avx2"].contains(&core.name()) && blocks > 1;
            let goes_scalar = alone && !weaves;
            assert_eq!(
                zen5.last_block_goes_scalar(blocks),
                goes_scalar,
                "{} {blocks}",
                core.name()
            );
            let plain = core.tuned(Tuning::Plain).last_block_goes_scalar(blocks);
            assert_eq!(plain, alone && core.name() == "neon", "{} {blocks}", core.name());
        }
    }
}

/// Lanes that differ in everything but perhaps the key, at every count.
#[test]
fn independent_lanes_give_the_blocks_that_they_name() {
    let keys: [[u8; 32]; MOST_LANES] =
        core::array::from_fn(|i| core::array::from_fn(|byte| (byte * 7 + i * 31) as u8));
    let each: [&[u8; 32]; MOST_LANES] = core::array::from_fn(|i| &keys[i]);
    let places: [Place; MOST_LANES] = core::array::from_fn(|i| {
        // Some carry into word 13, some wrap around.
        let counter = (i as u64).wrapping_sub(3) << (32 * (i % 2));
        Place([0, 0, i as u32 * 0x0101_0203, i as u32 * 0x0507_0b0d])
            .block(counter)
            .block(5 * i as u64)
    });
    for core in cores() {
        for count in 0..=MOST_LANES {
            for keys in [Keys::One(each[1]), Keys::Each(&each)] {
                let lanes = Lanes { keys, places: &places, count };
                let mut blocks = [[0; 64]; MOST_LANES];
                core.lanes(lanes, &mut blocks);
                for (i, block) in blocks[..count].iter().enumerate() {
                    let alone = &expected(&lanes.state(i), 64);
                    let one = matches!(keys, Keys::One(_));
                    let case = std::format!("{} lane {i} of {count}, {one}", core.name());
                    assert_same(block, alone, &case);
                }
            }
        }
    }
    assert_eq!(Place::start(&[1; 12]).block(2).0, [2, 0x0101_0101, 0x0101_0101, 0x0101_0101]);
}

//! The format of sealed files: what opens, and that nothing else does.

use blake2::{Blake2s256, Digest};
use keyspring::crng::SessionKey;
use keyspring_cli::stream::Secret::{self, Key, Passphrase};
use keyspring_cli::stream::{CHUNK, Cost, Error, HEADER, Header, Stream, TAG};

/// Sealed with the key 0, 1, 2, ... and with a passphrase, the salt 40, 41, ... and the nonce 80,
/// 81, ..., all hexadecimal, by a Python program on hashlib's BLAKE2b, PyNaCl's XChaCha20-Poly1305
/// and argon2-cffi.
const WITH_A_KEY: &str = "\
    6b6579737072696e67207365616c656401000000000000004041424344454647\
    48494a4b4c4d4e4f808182838485868788898a8b8c8d8e8f9091920449543fca\
    6d01eafbf6658cfaa52ed2b573d993f51ea5cf472a5d76981f9c5ced482803ff\
    1817d326117ae8e86cd998f54a911c76adab66165154a4ac78";
const WITH_A_PASSPHRASE: &str = "\
    6b6579737072696e67207365616c656401010200004c00004041424344454647\
    48494a4b4c4d4e4f808182838485868788898a8b8c8d8e8f90919259b0d350b1\
    4a11599f55879c0daa9175f78977b6c9ce243e4004143cb6baa82f6c5946c02f\
    ea4962d249d5a1c38d195d";

fn unhex(text: &str) -> Vec<u8> {
    base16ct::lower::decode_vec(text).unwrap()
}

fn key() -> Secret {
    Key(SessionKey::from(core::array::from_fn(|i| i as u8)))
}

fn passphrase(words: &str) -> Secret {
    Passphrase(words.as_bytes().to_vec().into())
}

/// 0, 1, 2, ... with period 251.
fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// The chunks that a file of this plaintext has.
fn chunks(stream: &mut Stream, plaintext: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    for at in (0..=plaintext.len()).step_by(CHUNK) {
        let mut chunk = plaintext[at..plaintext.len().min(at + CHUNK)].to_vec();
        stream.seal(&mut chunk).unwrap();
        sealed.extend(chunk);
    }
    sealed
}

fn seal(secret: &Secret, plaintext: &[u8]) -> Vec<u8> {
    let (header, mut stream) = Header::seal(secret, Cost::LEAST).unwrap();
    [header.as_bytes().as_slice(), &chunks(&mut stream, plaintext)].concat()
}

fn open(secret: &Secret, file: &[u8]) -> Result<Vec<u8>, Error> {
    let mut stream = Header::parse(file)?.open(secret)?;
    let mut plaintext = Vec::new();
    for at in (HEADER..=file.len()).step_by(CHUNK + TAG) {
        let mut chunk = file[at..file.len().min(at + CHUNK + TAG)].to_vec();
        let last = chunk.len() < CHUNK + TAG;
        stream.open(&mut chunk)?;
        plaintext.extend(chunk);
        if last {
            return Ok(plaintext);
        }
    }
    unreachable!("a last chunk is refused or ends the file");
}

#[test]
fn what_another_program_sealed_opens() {
    assert_eq!(open(&key(), &unhex(WITH_A_KEY)).unwrap(), b"attack at dawn");
    assert_eq!(open(&passphrase("correct horse"), &unhex(WITH_A_PASSPHRASE)).unwrap(), b"");
}

#[test]
fn several_chunks_are_what_another_program_makes_of_them() {
    let header = Header::parse(&unhex(WITH_A_KEY)).unwrap();
    let mut stream = header.open(&key()).unwrap();
    let sealed = [header.as_bytes().as_slice(), &chunks(&mut stream, &painted(2 * CHUNK))].concat();
    assert_eq!(sealed.len(), HEADER + 2 * CHUNK + 3 * TAG);
    let digest = base16ct::lower::encode_string(&Blake2s256::digest(&sealed));
    assert_eq!(digest, "14de49b376424edffc9d6b22deee968e2d48b6f94630d79bc1518f14df8bd6bc");
}

#[test]
fn every_length_around_a_chunk_opens_again() {
    let lengths = [0, 1, 63, 64, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 5];
    for len in lengths {
        let plaintext = painted(len);
        let file = seal(&key(), &plaintext);
        assert_eq!(file.len(), HEADER + len + (len / CHUNK + 1) * TAG, "{len} bytes");
        assert!(open(&key(), &file) == Ok(plaintext), "{len} bytes");
    }
}

#[test]
fn no_two_files_are_alike() {
    let plaintext = painted(100);
    assert_ne!(seal(&key(), &plaintext)[24..], seal(&key(), &plaintext)[24..]);
}

#[test]
fn every_flipped_bit_is_noticed() {
    for len in [0, 1, 100] {
        let mut file = seal(&key(), &painted(len));
        for at in 0..file.len() {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                let error = open(&key(), &file).expect_err("altered");
                let expected = match at {
                    0..16 => Error::NotSealed,
                    16 => Error::Version(file[16]),
                    17..24 => Error::Header,
                    24..HEADER => Error::WrongKey,
                    _ => Error::Chunk(0),
                };
                assert_eq!(error, expected, "{len} bytes, bit {bit} of byte {at}");
                file[at] ^= 1 << bit;
            }
        }
        assert!(open(&key(), &file).is_ok(), "{len} bytes: the file is as before");
    }
}

#[test]
fn every_altered_byte_is_noticed_with_a_passphrase_too() {
    let secret = passphrase("correct horse");
    let mut file = unhex(WITH_A_PASSPHRASE);
    for at in 0..file.len() {
        file[at] ^= 1;
        assert!(open(&secret, &file).is_err(), "byte {at}");
        file[at] ^= 1;
    }
}

#[test]
fn a_file_cut_anywhere_does_not_open() {
    let file = seal(&key(), &painted(100));
    for len in 0..file.len() {
        let error = open(&key(), &file[..len]).expect_err("cut");
        let expected = match len {
            0..16 => Error::NotSealed,
            _ if len < HEADER + TAG => Error::CutShort,
            _ => Error::Chunk(0),
        };
        assert_eq!(error, expected, "{len} bytes");
    }

    let file = seal(&key(), &painted(3 * CHUNK));
    for number in 0..=3 {
        let start = HEADER + number * (CHUNK + TAG);
        let cut = |len| open(&key(), &file[..len]).expect_err("cut");
        for len in start..start + TAG {
            // The end of the file is a chunk of nothing but its tag.
            assert_eq!(cut(len), Error::CutShort, "{len} bytes");
        }
        for len in [start + TAG, start + TAG + 1, start + CHUNK / 2, start + CHUNK + TAG - 1] {
            if len < file.len() {
                assert_eq!(cut(len), Error::Chunk(number as u32), "{len} bytes");
            }
        }
    }
}

#[test]
fn a_file_put_together_anew_does_not_open() {
    let plaintext = painted(3 * CHUNK + 10);
    let (one, other) = (seal(&key(), &plaintext), seal(&key(), &plaintext));
    let chunk = |file: &[u8], number| {
        let start = HEADER + number * (CHUNK + TAG);
        file[start..file.len().min(start + CHUNK + TAG)].to_vec()
    };
    let [a, b, c, end] = [0, 1, 2, 3].map(|number| chunk(&one, number));
    let put_together = |chunks: &[&[u8]]| [&one[..HEADER], &chunks.concat()].concat();
    assert!(open(&key(), &put_together(&[&a, &b, &c, &end])) == Ok(plaintext));
    let foreign = chunk(&other, 1);
    let empty_end = chunk(&seal(&key(), &[]), 0);
    let cases: [(&str, &[&[u8]], u32); 11] = [
        ("swapped", &[&a, &c, &b, &end], 1),
        ("swapped in front", &[&b, &a, &c, &end], 0),
        ("doubled", &[&a, &a, &b, &c, &end], 1),
        ("left out", &[&a, &c, &end], 1),
        ("left out in front", &[&b, &c, &end], 0),
        ("left out at the end", &[&a, &b, &end], 2),
        ("from another file", &[&a, &foreign, &c, &end], 1),
        ("another file's end", &[&a, &b, &c, &empty_end], 3),
        ("the end doubled", &[&a, &b, &c, &end, &end], 3),
        ("a byte more", &[&a, &b, &c, &end, &[0]], 3),
        ("another file behind it", &[&a, &b, &c, &end, &other], 3),
    ];
    for (case, chunks, number) in cases {
        assert!(open(&key(), &put_together(chunks)) == Err(Error::Chunk(number)), "{case}");
    }
    let exact = seal(&key(), &painted(CHUNK));
    assert_eq!(open(&key(), &[exact.as_slice(), &exact].concat()), Err(Error::Chunk(1)));
    let header = [&other[..HEADER], &one[HEADER..]].concat();
    assert_eq!(open(&key(), &header), Err(Error::Chunk(0)), "another file's header");
}

#[test]
fn only_the_secret_opens() {
    let wrong = Key(SessionKey::from([7; 32]));
    assert_eq!(open(&wrong, &unhex(WITH_A_KEY)), Err(Error::WrongKey));
    let words = passphrase("correct horse");
    assert_eq!(open(&words, &unhex(WITH_A_KEY)), Err(Error::Secret));
    assert_eq!(open(&key(), &unhex(WITH_A_PASSPHRASE)), Err(Error::Secret));
    for wrong in ["correct horsf", "correct hors", "correct horse ", ""] {
        let secret = passphrase(wrong);
        assert_eq!(open(&secret, &unhex(WITH_A_PASSPHRASE)), Err(Error::WrongKey), "{wrong}");
    }
}

#[test]
fn a_hostile_header_is_refused_before_it_costs_anything() {
    let header = |origin: u8, passes: u16, kib: u32| {
        let mut file = unhex(WITH_A_PASSPHRASE);
        file[17] = origin;
        file[18..20].copy_from_slice(&passes.to_le_bytes());
        file[20..24].copy_from_slice(&kib.to_le_bytes());
        Header::parse(&file).map(|header| header.has_passphrase())
    };
    for (passes, mib) in [(2, 19), (10, 19), (2, 1024), (10, 1024), (3, 64)] {
        assert_eq!(header(1, passes, mib << 10), Ok(true), "{passes} passes, {mib} MiB");
    }
    assert_eq!(header(0, 0, 0), Ok(false));
    for (origin, passes, kib) in [
        (1, 0, 64 << 10),
        (1, 1, 64 << 10),
        (1, 11, 64 << 10),
        (1, u16::MAX, 64 << 10),
        (1, 3, 0),
        (1, 3, 18 << 10),
        (1, 3, (19 << 10) - 1),
        (1, 3, (64 << 10) + 1),
        (1, 3, 1025 << 10),
        (1, 3, u32::MAX),
        (0, 3, 64 << 10),
        (0, 0, 1),
        (0, 1, 0),
        (2, 3, 64 << 10),
        (255, 0, 0),
    ] {
        let case = format!("origin {origin}, {passes} passes, {kib} KiB");
        assert_eq!(header(origin, passes, kib), Err(Error::Header), "{case}");
    }
    for version in (0..=255).filter(|version| *version != 1) {
        let mut file = unhex(WITH_A_KEY);
        file[16] = version;
        assert_eq!(Header::parse(&file).unwrap_err(), Error::Version(version));
    }
}

#[test]
fn a_cost_out_of_bounds_seals_nothing() {
    for (memory, passes) in [(18, 2), (19, 1), (1025, 2), (19, 11), (u32::MAX, u16::MAX)] {
        let result = Header::seal(&passphrase("correct horse"), Cost { memory, passes });
        assert_eq!(result.unwrap_err(), Error::Header, "{memory} MiB, {passes} passes");
    }
}

#[test]
fn a_refused_chunk_stays_as_it_was() {
    let header = Header::parse(&unhex(WITH_A_KEY)).unwrap();
    let mut chunk = unhex(WITH_A_KEY)[HEADER..].to_vec();
    *chunk.last_mut().unwrap() ^= 1;
    let before = chunk.clone();
    assert_eq!(header.open(&key()).unwrap().open(&mut chunk), Err(Error::Chunk(0)));
    assert_eq!(chunk, before);
}

#[test]
fn nothing_secret_is_shown() {
    assert_eq!(format!("{:?} {:?}", key(), passphrase("horse")), "Key(..) Passphrase(..)");
    let stream = Header::seal(&key(), Cost::LEAST).unwrap().1;
    assert!(format!("{stream:?}").contains("XChaCha20Poly1305"), "{stream:?}");
}

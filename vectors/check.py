#!/usr/bin/env python3
"""Recomputes every known answer in this folder, apart from the library.

A second implementation, written for the eye and from the specifications alone: RFC 8439,
draft-irtf-cfrg-xchacha-03, and the definition of SeededCrng ("FKE-ChaCha20-1024": one refill is
16 blocks under an all-zero nonce, 32 bytes to the next key and 992 to the reader; a child's seed is
the keyed BLAKE2s of its label under the parent's next 32 bytes). It needs nothing but Python's
standard library, prints how many vectors of each file agree, and exits with 1 if one does not.
"""

import hashlib
import pathlib
import re
import struct
import sys

FOLDER = pathlib.Path(__file__).parent
CONSTANTS = b"expand 32-byte k"
P = 2**130 - 5


# ChaCha: RFC 8439 sections 2.1 to 2.4, with the number of rounds left open.


def quarter_round(x, a, b, c, d):
    for sum_to, add, turn, left in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[sum_to] = (x[sum_to] + x[add]) & 0xFFFFFFFF
        word = x[turn] ^ x[sum_to]
        x[turn] = (word << left | word >> (32 - left)) & 0xFFFFFFFF


def permute(words, rounds):
    x = list(words)
    for _ in range(rounds // 2):
        for i in range(4):
            quarter_round(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return x


def keystream(key, nonce, counter, length, rounds=20):
    """The counter fills what the nonce leaves of the last 16 bytes: 4 bytes of them, or 8."""
    blocks = -(-length // 64)
    assert counter + blocks <= 256 ** (16 - len(nonce)), "the counter is exhausted"
    out = b""
    for block in range(counter, counter + blocks):
        tail = block.to_bytes(16 - len(nonce), "little") + nonce
        words = struct.unpack("<16I", CONSTANTS + key + tail)
        mixed = permute(words, rounds)
        out += struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(words, mixed)))
    return out[:length]


def hchacha20(key, input):
    x = permute(struct.unpack("<16I", CONSTANTS + key + input), 20)
    return struct.pack("<8I", *x[:4], *x[12:])


def xchacha20(key, nonce, counter, length):
    return keystream(hchacha20(key, nonce[:16]), nonce[16:], counter, length)


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


# Poly1305 and the AEAD: RFC 8439 sections 2.5 to 2.8.


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    s = int.from_bytes(key[16:], "little")
    h = 0
    for at in range(0, len(message), 16):
        h = (h + int.from_bytes(message[at : at + 16] + b"\1", "little")) * r % P
    return ((h + s) % 2**128).to_bytes(16, "little")


def seal(key, nonce, aad, plaintext):
    def padded(part):
        return part + b"\0" * (-len(part) % 16)

    ciphertext = xor(plaintext, keystream(key, nonce, 1, len(plaintext)))
    lengths = struct.pack("<QQ", len(aad), len(ciphertext))
    one_time_key = keystream(key, nonce, 0, 32)
    return ciphertext, poly1305(one_time_key, padded(aad) + padded(ciphertext) + lengths)


# SeededCrng.


def seeded_crng(key, length):
    out = b""
    while len(out) < length:
        refill = keystream(key, bytes(12), 0, 1024)
        key = refill[:32]
        out += refill[32:]
    return out[:length]


# The files.


def parse(text):
    """Yields every vector of a file as a dictionary of strings (the format is in README.md)."""
    for paragraph in text.replace("\n    ", " ").split("\n\n"):
        vector = {}
        for line in paragraph.splitlines():
            if line and not line.startswith("#"):
                key, value = (part.strip() for part in line.split("=", 1))
                assert key not in vector, f"{key} twice in {vector}"
                vector[key] = value
        if vector:
            yield vector


def bytes_of(value):
    def unfold(match):
        return match[1] * int(match[2])

    return bytes.fromhex(re.sub(r"repeat\(([0-9a-f]+), (\d+)\)", unfold, value))


def stream_answer(keystream_of):
    """A stream cipher's vector gives its keystream, or a plaintext and its ciphertext."""

    def answer(v):
        given = bytes_of(v.get("plaintext", v.get("keystream")))
        key, nonce, counter = bytes_of(v["key"]), bytes_of(v["nonce"]), int(v["counter"])
        stream = keystream_of(key, nonce, counter, len(given))
        if "plaintext" in v:
            return {"ciphertext": xor(given, stream)}
        return {"keystream": stream}

    return answer


def sealed_answer(subkey_of):
    """An AEAD's vector; `subkey_of` gives the key and nonce that RFC 8439's AEAD runs under."""

    def answer(v):
        key, nonce = subkey_of(bytes_of(v["key"]), bytes_of(v["nonce"]))
        ciphertext, tag = seal(key, nonce, bytes_of(v["aad"]), bytes_of(v["plaintext"]))
        return {"ciphertext": ciphertext, "tag": tag}

    return answer


def seeded_answer(v):
    start = int(v["offset"])
    end = start + len(bytes_of(v["output"]))
    answers = {"output": seeded_crng(bytes_of(v["seed"]), end)[start:]}
    if "sha256" in v:
        answers["sha256"] = hashlib.sha256(answers["output"]).digest()
    return answers


def split_answer(v):
    start = int(v["offset"])
    drawn = seeded_crng(bytes_of(v["seed"]), start + 32)[start:]
    child = hashlib.blake2s(bytes_of(v["label"]), key=drawn).digest()
    return {"output": seeded_crng(child, len(bytes_of(v["output"])))}


ANSWERS = {
    "ChaCha8": stream_answer(lambda *args: keystream(*args, rounds=8)),
    "ChaCha12": stream_answer(lambda *args: keystream(*args, rounds=12)),
    "ChaCha20": stream_answer(keystream),
    "ChaCha20Legacy": stream_answer(keystream),
    "XChaCha20": stream_answer(xchacha20),
    "HChaCha20": lambda v: {"output": hchacha20(bytes_of(v["key"]), bytes_of(v["input"]))},
    "Poly1305": lambda v: {"tag": poly1305(bytes_of(v["key"]), bytes_of(v["message"]))},
    "ChaCha20Poly1305": sealed_answer(lambda key, nonce: (key, nonce)),
    "XChaCha20Poly1305": sealed_answer(
        lambda key, nonce: (hchacha20(key, nonce[:16]), bytes(4) + nonce[16:])
    ),
    "SeededCrng": seeded_answer,
    "SeededCrng::split": split_answer,
}


def main():
    all_agree = True
    for path in sorted(FOLDER.glob("*.txt")):
        vectors = list(parse(path.read_text()))
        agree = sum(agrees(path.name, vector) for vector in vectors)
        print(f"{path.name}: {agree} of {len(vectors)} vectors agree")
        all_agree &= bool(vectors) and agree == len(vectors)
    return 0 if all_agree else 1


def agrees(file, vector):
    wrong = {
        field: answer
        for field, answer in ANSWERS[vector["algorithm"]](vector).items()
        if bytes_of(vector[field]) != answer
    }
    for field, answer in wrong.items():
        print(f"{file}: {vector['name']}: {field} should be {answer.hex()}")
    return not wrong


if __name__ == "__main__":
    sys.exit(main())

//! How fast a job could be: the cycles per KiB that a core's vector ports allow.
//!
//! ChaCha20 is 80 quarter rounds of 12 operations per 16 or 8 blocks, 16 additions, and the
//! transpose; how many of these start in a cycle depends on the core. Poly1305 is counted for
//! AVX512_IFMA alone, in radix 2^44. Both want the same two ports, so the AEAD's bound is the sum.

use crate::record::Header;

/// A lower bound, and the core that it was counted for.
#[derive(Clone, Copy)]
pub struct Bound {
    /// Core cycles per 1024 bytes.
    pub cycles_per_kib: f64,
    /// Vector width and core.
    pub core: &'static str,
}

/// The bound for a job on the machine that a header describes, where one is known.
pub fn bound(job: &str, header: &Header) -> Option<Bound> {
    let get = |key: &str| header.get(key).map_or("", String::as_str);
    let has = |flag: &str| get("cpu flags").split(' ').any(|known| known == flag);
    let amd = get("cpu vendor") == "AuthenticAMD";
    let (cycles_per_kib, core) = match job {
        "chacha" if has("avx512f") && amd && get("cpu family") == "25" => (532.0, "zmm, Zen 4"),
        "chacha" if has("avx512f") && amd => (264.0, "zmm, Zen 5"),
        "chacha" if has("avx512f") => (528.0, "zmm, Intel"),
        "chacha" if has("avx2") && amd => (680.0, "AVX2, Zen 2"),
        "chacha" if has("avx2") => (906.0, "AVX2, Skylake"),
        "poly1305" if has("avx512ifma") && amd && get("cpu family") == "26" => {
            (72.0, "IFMA, Zen 5")
        }
        "poly1305" if has("avx512ifma") && !amd => (119.0, "IFMA, Intel"),
        "aead" if has("avx512ifma") && !amd => (647.0, "zmm and IFMA, Intel"),
        _ => return None,
    };
    Some(Bound { cycles_per_kib, core })
}

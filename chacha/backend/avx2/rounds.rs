//! The rounds of a vertical pass, in registers and memory that are chosen here.
//!
//! The 16 words of a pass would take all 16 registers, a quarter round needs one or two more, and the
//! compiler finds no good words to leave in memory: it chooses some that the next operation waits
//! for. What each word waits for decides here. A quarter round is a chain through its four words:
//!
//! ```text
//! a b   d a   d     c d   b c   b            a b   d a   d    c d   b c   b
//! a +=  d ^=  <<<   c +=  b ^=  <<< (3)      a +=  d ^=  <<<  c +=  b ^=  <<< (3)   next: a += b
//! ```
//!
//! `b` is written last and needed first; `c` is done four instructions before the end and needed
//! three after the start of the next, longer than a store and a load take. So the words `c` lie in
//! memory: 12 registers for the others, and 4 for the two quarter rounds that run at a time. The
//! byte shuffles that rotate by 16 and 8 are operands in memory.

use core::arch::asm;
use core::arch::x86_64::__m256i;

use zeroize::Zeroize;

use super::Avx2;
use crate::chacha::isa::Isa;
use crate::chacha::wide::{self, Between};

/// The byte shuffles that rotate each word by 16 and by 8.
#[repr(align(32))]
pub(super) struct Shuffles(#[allow(dead_code, reason = "read by instructions")] [[u8; 32]; 2]);

pub(super) static SHUFFLES: Shuffles = Shuffles([
    *b"\x02\x03\x00\x01\x06\x07\x04\x05\x0a\x0b\x08\x09\x0e\x0f\x0c\x0d\
       \x02\x03\x00\x01\x06\x07\x04\x05\x0a\x0b\x08\x09\x0e\x0f\x0c\x0d",
    *b"\x03\x00\x01\x02\x07\x04\x05\x06\x0b\x08\x09\x0a\x0f\x0c\x0d\x0e\
       \x03\x00\x01\x02\x07\x04\x05\x06\x0b\x08\x09\x0a\x0f\x0c\x0d\x0e",
]);

/// The words `c` of a pass.
#[repr(align(32))]
struct Rows([[u8; 32]; 4]);

/// Two quarter rounds at a time, with the words `c` of rows `I` and `J`.
#[inline]
#[target_feature(enable = "avx2")]
fn two<const I: usize, const J: usize>(
    rows: &mut Rows,
    [a, b, d]: [&mut __m256i; 3],
    [e, f, h]: [&mut __m256i; 3],
) {
    const { assert!(I < 4 && J < 4) };
    // SAFETY: AVX2 may be used here, and what is read and written are the two arrays, both aligned to
    // 32 bytes as `vmovdqa` wants it.
    unsafe {
        asm!(
            "vpaddd {a}, {a}, {b}",
            "vpaddd {e}, {e}, {f}",
            "vpxor {d}, {d}, {a}",
            "vpxor {h}, {h}, {e}",
            "vpshufb {d}, {d}, [{m}]",
            "vpshufb {h}, {h}, [{m}]",
            "vpaddd {c}, {d}, [{x} + 32 * {i}]",
            "vpaddd {g}, {h}, [{x} + 32 * {j}]",
            "vpxor {b}, {b}, {c}",
            "vpxor {f}, {f}, {g}",
            "vpslld {t}, {b}, 12",
            "vpslld {u}, {f}, 12",
            "vpsrld {b}, {b}, 20",
            "vpsrld {f}, {f}, 20",
            "vpor {b}, {b}, {t}",
            "vpor {f}, {f}, {u}",
            "vpaddd {a}, {a}, {b}",
            "vpaddd {e}, {e}, {f}",
            "vpxor {d}, {d}, {a}",
            "vpxor {h}, {h}, {e}",
            "vpshufb {d}, {d}, [{m} + 32]",
            "vpshufb {h}, {h}, [{m} + 32]",
            "vpaddd {c}, {c}, {d}",
            "vmovdqa [{x} + 32 * {i}], {c}",
            "vpaddd {g}, {g}, {h}",
            "vmovdqa [{x} + 32 * {j}], {g}",
            "vpxor {b}, {b}, {c}",
            "vpxor {f}, {f}, {g}",
            "vpslld {t}, {b}, 7",
            "vpslld {u}, {f}, 7",
            "vpsrld {b}, {b}, 25",
            "vpsrld {f}, {f}, 25",
            "vpor {b}, {b}, {t}",
            "vpor {f}, {f}, {u}",
            a = inout(ymm_reg) *a,
            b = inout(ymm_reg) *b,
            d = inout(ymm_reg) *d,
            e = inout(ymm_reg) *e,
            f = inout(ymm_reg) *f,
            h = inout(ymm_reg) *h,
            c = out(ymm_reg) _,
            g = out(ymm_reg) _,
            t = out(ymm_reg) _,
            u = out(ymm_reg) _,
            i = const I,
            j = const J,
            x = in(reg) rows,
            m = in(reg) &SHUFFLES,
            options(nostack, preserves_flags)
        );
    }
}

/// The rounds of one pass, without the feed-forward.
#[inline(always)]
pub(super) fn one_pass(
    isa: Avx2,
    x: [__m256i; 16],
    double_rounds: u32,
    mut between: impl Between,
) -> [__m256i; 16] {
    if !super::HAS_ASM {
        return wide::rounds(isa, x, double_rounds, between);
    }
    let mut c = Rows([[0; 32]; 4]);
    let [mut a0, mut a1, mut a2, mut a3, mut b0, mut b1, mut b2, mut b3, ..] = x;
    let [.., mut d0, mut d1, mut d2, mut d3] = x;
    isa.store(&mut c.0[0], x[8]);
    isa.store(&mut c.0[1], x[9]);
    isa.store(&mut c.0[2], x[10]);
    isa.store(&mut c.0[3], x[11]);
    macro_rules! two {
        ([$a:ident $b:ident $i:literal $d:ident] [$e:ident $f:ident $j:literal $h:ident]) => {
            // SAFETY: the token proves AVX2.
            unsafe {
                two::<$i, $j>(&mut c, [&mut $a, &mut $b, &mut $d], [&mut $e, &mut $f, &mut $h]);
            }
        };
    }
    let mut left = double_rounds;
    loop {
        two!([a0 b0 0 d0] [a1 b1 1 d1]);
        between.at(0);
        two!([a2 b2 2 d2] [a3 b3 3 d3]);
        between.at(1);
        two!([a0 b1 2 d3] [a1 b2 3 d0]);
        between.at(2);
        two!([a2 b3 0 d1] [a3 b0 1 d2]);
        between.at(3);
        // There is at least one: a loop that may not run costs moves.
        left -= 1;
        if left == 0 {
            break;
        }
    }
    let [c0, c1, c2, c3] =
        [isa.load(&c.0[0]), isa.load(&c.0[1]), isa.load(&c.0[2]), isa.load(&c.0[3])];
    c.0.as_flattened_mut().zeroize();
    [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3]
}

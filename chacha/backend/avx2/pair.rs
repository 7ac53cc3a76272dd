//! Two vertical passes in step, for Zen 5, where one leaves the vector units waiting.
//!
//! A vector operation takes two cycles there and four can start in each, so the four quarter rounds
//! of one pass, 16 operations each and 14 of them one after the other, are 2.3 a cycle. Those of two
//! passes are all that can start, and their 32 words do not fit into 16 registers: only the words `b`
//! of both stay there, since each is written last and needed first. A word `a`, `c` or `d` is done
//! long enough before the next quarter round needs it for a store and a load.
//!
//! ```text
//! registers   b of pass 0 (4)   b of pass 1 (4)   a c d t   a c d t     the two quarter rounds under way
//! ```

use core::arch::asm;
use core::arch::x86_64::__m256i;
use core::hint;

use zeroize::Zeroize;

use super::Avx2;
use super::rounds::SHUFFLES;
use crate::chacha::State;
use crate::chacha::data::Sink;
use crate::chacha::isa::Isa;
use crate::chacha::shapes::record;
use crate::chacha::wide::{self, Between};

/// The words of both passes.
#[repr(align(32))]
struct Words([[[u8; 32]; 16]; 2]);

/// Puts the keystream of 16 blocks from block `first` on to `sink`, and calls `between` eight times in
/// each double round, with the numbers 0 to 7.
#[inline(always)]
pub(crate) fn pass<S: Sink>(
    isa: Avx2,
    state: &State,
    first: u64,
    sink: &mut S,
    between: impl Between,
) {
    record("pair", 16);
    let counter = state.counter.wrapping_add(first);
    let counters = [isa.count_lanes(counter), isa.count_lanes(counter.wrapping_add(8))];
    let mut x = Words([[[0; 32]; 16]; 2]);
    for (x, counters) in x.0.iter_mut().zip(counters) {
        let start = wide::matrix(isa, state.words(0), counters);
        for i in 0..16 {
            isa.store(&mut x[i], start[i]);
        }
    }
    rounds(isa, &mut x, state.double_rounds, between);
    // Loaded again: kept in registers, the words would push out the state.
    let words = hint::black_box(state).words(0);
    for (i, counters) in counters.into_iter().enumerate() {
        let y = wide::feed_forward(isa, x.pass(isa, i), words, counters);
        wide::put_blocks(isa, y, 512 * i, sink);
    }
    x.0.as_flattened_mut().as_flattened_mut().zeroize();
}

impl Words {
    #[inline(always)]
    fn pass(&self, isa: Avx2, i: usize) -> [__m256i; 16] {
        let mut x = [isa.splat(0); 16];
        for (j, x) in x.iter_mut().enumerate() {
            *x = isa.load(&self.0[i][j]);
        }
        x
    }
}

/// The rounds without the feed-forward.
#[inline(always)]
fn rounds(isa: Avx2, x: &mut Words, double_rounds: u32, mut between: impl Between) {
    if !super::HAS_ASM {
        let [p, q] = [x.pass(isa, 0), x.pass(isa, 1)];
        let p = wide::rounds(isa, p, double_rounds, || ());
        let q = wide::rounds(isa, q, double_rounds, Halved(between));
        for (x, y) in x.0.as_flattened_mut().iter_mut().zip(p.into_iter().chain(q)) {
            isa.store(x, y);
        }
        return;
    }
    let [p, q] = [x.pass(isa, 0), x.pass(isa, 1)];
    let [_, _, _, _, mut b0, mut b1, mut b2, mut b3, ..] = p;
    let [_, _, _, _, mut f0, mut f1, mut f2, mut f3, ..] = q;
    // Two quarter rounds of the pass whose words lie from `at` on.
    macro_rules! two {
        (
            $at:literal
            [$a:literal $b:ident $c:literal $d:literal] [$e:literal $f:ident $g:literal $h:literal]
        ) => {
            // SAFETY: the token proves AVX2.
            unsafe {
                two::<
                    { $at + $a },
                    { $at + $c },
                    { $at + $d },
                    { $at + $e },
                    { $at + $g },
                    { $at + $h },
                >(x, &mut $b, &mut $f);
            }
        };
    }
    let mut left = double_rounds;
    loop {
        two!(0 [0 b0 8 12] [1 b1 9 13]);
        between.at(0);
        two!(0 [2 b2 10 14] [3 b3 11 15]);
        between.at(1);
        two!(16 [0 f0 8 12] [1 f1 9 13]);
        between.at(2);
        two!(16 [2 f2 10 14] [3 f3 11 15]);
        between.at(3);
        two!(0 [0 b1 10 15] [1 b2 11 12]);
        between.at(4);
        two!(0 [2 b3 8 13] [3 b0 9 14]);
        between.at(5);
        two!(16 [0 f1 10 15] [1 f2 11 12]);
        between.at(6);
        two!(16 [2 f3 8 13] [3 f0 9 14]);
        between.at(7);
        // There is at least one: a loop that may not run costs moves.
        left -= 1;
        if left == 0 {
            break;
        }
    }
    for (x, b) in x.0.iter_mut().zip([[b0, b1, b2, b3], [f0, f1, f2, f3]]) {
        for i in 0..4 {
            isa.store(&mut x[4 + i], b[i]);
        }
    }
}

/// The eighths of a double round, two at each quarter.
struct Halved<B>(B);

impl<B: Between> Between for Halved<B> {
    #[inline(always)]
    fn at(&mut self, part: usize) {
        self.0.at(2 * part);
        self.0.at(2 * part + 1);
    }
}

/// Two quarter rounds at a time, of the words `A` `b` `C` `D` and `E` `f` `G` `H`.
#[inline]
#[target_feature(enable = "avx2")]
fn two<
    const A: usize,
    const C: usize,
    const D: usize,
    const E: usize,
    const G: usize,
    const H: usize,
>(
    x: &mut Words,
    b: &mut __m256i,
    f: &mut __m256i,
) {
    const { assert!(A < 32 && C < 32 && D < 32 && E < 32 && G < 32 && H < 32) };
    // SAFETY: AVX2 may be used here, and what is read and written are the two arrays, both aligned to
    // 32 bytes as `vmovdqa` wants it.
    unsafe {
        asm!(
            "vpaddd {a}, {b}, [{x} + 32 * {ia}]",
            "vpaddd {e}, {f}, [{x} + 32 * {ie}]",
            "vpxor {d}, {a}, [{x} + 32 * {id}]",
            "vpxor {h}, {e}, [{x} + 32 * {ih}]",
            "vpshufb {d}, {d}, [{m}]",
            "vpshufb {h}, {h}, [{m}]",
            "vpaddd {c}, {d}, [{x} + 32 * {ic}]",
            "vpaddd {g}, {h}, [{x} + 32 * {ig}]",
            "vpxor {b}, {b}, {c}",
            "vpxor {f}, {f}, {g}",
            "vpslld {t}, {b}, 12",
            "vpslld {u}, {f}, 12",
            "vpsrld {b}, {b}, 20",
            "vpsrld {f}, {f}, 20",
            "vpor {b}, {b}, {t}",
            "vpor {f}, {f}, {u}",
            "vpaddd {a}, {a}, {b}",
            "vmovdqa [{x} + 32 * {ia}], {a}",
            "vpaddd {e}, {e}, {f}",
            "vmovdqa [{x} + 32 * {ie}], {e}",
            "vpxor {d}, {d}, {a}",
            "vpxor {h}, {h}, {e}",
            "vpshufb {d}, {d}, [{m} + 32]",
            "vmovdqa [{x} + 32 * {id}], {d}",
            "vpshufb {h}, {h}, [{m} + 32]",
            "vmovdqa [{x} + 32 * {ih}], {h}",
            "vpaddd {c}, {c}, {d}",
            "vmovdqa [{x} + 32 * {ic}], {c}",
            "vpaddd {g}, {g}, {h}",
            "vmovdqa [{x} + 32 * {ig}], {g}",
            "vpxor {b}, {b}, {c}",
            "vpxor {f}, {f}, {g}",
            "vpslld {t}, {b}, 7",
            "vpslld {u}, {f}, 7",
            "vpsrld {b}, {b}, 25",
            "vpsrld {f}, {f}, 25",
            "vpor {b}, {b}, {t}",
            "vpor {f}, {f}, {u}",
            b = inout(ymm_reg) *b,
            f = inout(ymm_reg) *f,
            a = out(ymm_reg) _,
            d = out(ymm_reg) _,
            e = out(ymm_reg) _,
            h = out(ymm_reg) _,
            c = out(ymm_reg) _,
            g = out(ymm_reg) _,
            t = out(ymm_reg) _,
            u = out(ymm_reg) _,
            ia = const A,
            ic = const C,
            id = const D,
            ie = const E,
            ig = const G,
            ih = const H,
            x = in(reg) x,
            m = in(reg) &SHUFFLES,
            options(nostack, preserves_flags)
        );
    }
}

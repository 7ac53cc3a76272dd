//! What `.ci/codegen` must report: four functions in which what lies in 512-bit vectors leaves them.

use std::arch::x86_64::*;

#[target_feature(enable = "avx512f")]
#[unsafe(no_mangle)]
pub fn leak_by_a_branch(a: __m512i, b: __m512i) -> u64 {
    if _mm512_cmpeq_epi32_mask(a, b) == 0 { std::process::id().into() } else { 0 }
}

#[target_feature(enable = "avx512f")]
#[unsafe(no_mangle)]
pub fn leak_by_a_mask(a: __m512i, b: __m512i, table: &[u8; 1 << 16]) -> u8 {
    table[usize::from(_mm512_cmpgt_epi32_mask(a, b))]
}

#[target_feature(enable = "avx512f")]
#[unsafe(no_mangle)]
pub fn leak_by_an_index(a: __m512i, table: &[u64; 1 << 16]) -> __m512i {
    let indices = _mm512_srli_epi64::<48>(a);
    // SAFETY: sixteen bits.
    unsafe { _mm512_i64gather_epi64::<8>(indices, table.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[unsafe(no_mangle)]
pub fn leak_by_a_division(a: __m512i, by: u64) -> u64 {
    _mm512_reduce_add_epi64(a).cast_unsigned() / by.max(1)
}

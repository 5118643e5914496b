// SPDX-License-Identifier: MIT
// The vector vocabulary of the AMX kernel: 16 floats or 32 words of 16 bits at a time. With AVX-512 each
// function is an instruction or a few; elsewhere it is a plain loop, so that the kernel runs on any machine
// under test. Included inside the anonymous namespace of one source file's kernel: see amx_attend-inl.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

#include "numeric/half.h"

// A source file that turns the instructions on by a pragma, which g++ 12 does not show in its macros, defines
// this itself.
#ifndef FLASHMOE_AMX_VECTORS
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512BF16__)
#define FLASHMOE_AMX_VECTORS 1
#else
#define FLASHMOE_AMX_VECTORS 0
#endif
#endif
#if FLASHMOE_AMX_VECTORS
#include <immintrin.h>
#endif

namespace flashmoe::cpu::amx {
namespace {  // internal linkage: two source files may compile this with different instruction sets

using Lanes = uint16_t;  // bit i: lane i of 16

inline Lanes first_lanes(int64_t count) {
  return count >= 16 ? Lanes{0xFFFF} : count <= 0 ? Lanes{0} : static_cast<Lanes>((1U << count) - 1);
}

// 2^r on [0, 1) as 1 + r (c1 + r (c2 + ...)): minimax in relative error, 1.5e-7 with roundings, exactly 1 at
// 0.
constexpr float kExp2[5] = {0x1.62e4bap-1F, 0x1.ebdb56p-3F, 0x1.c91ce6p-5F, 0x1.277854p-7F, 0x1.e974fcp-10F};

#if FLASHMOE_AMX_VECTORS

using Floats = __m512;
using Words = __m512i;

inline Floats splat(float x) { return _mm512_set1_ps(x); }
inline Floats load(const float* from) { return _mm512_load_ps(from); }  // aligned to 64 bytes, as is store
inline void store(float* to, Floats x) { _mm512_store_ps(to, x); }
inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
inline Floats multiply_subtract(Floats a, Floats b, Floats c) { return _mm512_fmsub_ps(a, b, c); }
inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }  // b when one of them is NaN
inline Floats max(Lanes where, Floats a, Floats b) { return _mm512_mask_max_ps(a, where, a, b); }  // else a
inline Floats keep(Lanes where, Floats a) { return _mm512_maskz_mov_ps(where, a); }                // else 0
inline Floats choose(Lanes where, Floats a, Floats b) { return _mm512_mask_mov_ps(b, where, a); }
inline Lanes greater(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
inline Lanes not_equal(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }

// 2^x: 0 at -inf, NaN for NaN.
inline Floats exp2(Floats x) {
  const Floats r = _mm512_reduce_ps(x, 0x09);  // x - floor(x)
  Floats p = splat(kExp2[4]);
  p = _mm512_fmadd_ps(p, r, splat(kExp2[3]));
  p = _mm512_fmadd_ps(p, r, splat(kExp2[2]));
  p = _mm512_fmadd_ps(p, r, splat(kExp2[1]));
  p = _mm512_fmadd_ps(p, r, splat(kExp2[0]));
  p = _mm512_fmadd_ps(p, r, splat(1.0F));
  return _mm512_scalef_ps(p, x);  // p * 2^floor(x)
}

inline Words rounded(Floats low, Floats high) { return (Words)_mm512_cvtne2ps_pbh(high, low); }

// Lane r of the result is the `Combine` of all lanes of rows[r].
template <class Combine>
inline Floats across_lanes(const Floats rows[16], Combine combine) {
  Floats four[4];  // in each 128-bit block: its share of rows 4i to 4i + 3
  for (int i = 0; i < 4; ++i) {
    const Floats* r = rows + 4 * i;
    const Floats low = combine(_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1]));
    const Floats high = combine(_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3]));
    four[i] = combine(_mm512_shuffle_ps(low, high, 0x44), _mm512_shuffle_ps(low, high, 0xEE));
  }
  const Floats a =
      combine(_mm512_shuffle_f32x4(four[0], four[1], 0x88), _mm512_shuffle_f32x4(four[0], four[1], 0xDD));
  const Floats b =
      combine(_mm512_shuffle_f32x4(four[2], four[3], 0x88), _mm512_shuffle_f32x4(four[2], four[3], 0xDD));
  return combine(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}

inline uint32_t first_words(int64_t count) { return count >= 32 ? ~0U : (1U << count) - 1; }

inline Words no_words() { return _mm512_setzero_si512(); }
// The first `count` of 32 words, zeros behind them; nothing past them is read.
inline Words load_words(const bf16* from) { return _mm512_loadu_si512(from); }
inline Words load_words(const bf16* from, int64_t count) {
  return _mm512_maskz_loadu_epi16(first_words(count), from);
}
inline void store_words(void* to, Words x) { _mm512_store_si512(to, x); }
inline Words flip_signs(Words x) {
  return _mm512_xor_si512(x, _mm512_set1_epi16(static_cast<int16_t>(0x8000)));
}
inline Words max_magnitudes(Words a, Words b) {
  return _mm512_max_epu16(a, _mm512_and_si512(b, _mm512_set1_epi16(0x7FFF)));
}
inline bool all_finite(Words magnitudes) {
  return _mm512_cmpge_epu16_mask(magnitudes, _mm512_set1_epi16(0x7F80)) == 0;
}

// Words of a and b in turn, of the lower (upper) half of each 128-bit block.
inline Words interleave_low(Words a, Words b) { return _mm512_unpacklo_epi16(a, b); }
inline Words interleave_high(Words a, Words b) { return _mm512_unpackhi_epi16(a, b); }

// Pair (2j, 2j + 1) of row i becomes pair i of row j of a tile.
inline void store_transposed_pairs(const Words rows[16], std::byte* to) {
  Words a[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  Words b[16];
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  // b[4i + j] holds in block n the pairs 4n + j of rows 4i to 4i + 3.
  for (int j = 0; j < 4; ++j) {
    const Words even_low = _mm512_shuffle_i32x4(b[j], b[4 + j], 0x88);
    const Words odd_low = _mm512_shuffle_i32x4(b[j], b[4 + j], 0xDD);
    const Words even_high = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0x88);
    const Words odd_high = _mm512_shuffle_i32x4(b[8 + j], b[12 + j], 0xDD);
    store_words(to + j * 64, _mm512_shuffle_i32x4(even_low, even_high, 0x88));
    store_words(to + (4 + j) * 64, _mm512_shuffle_i32x4(odd_low, odd_high, 0x88));
    store_words(to + (8 + j) * 64, _mm512_shuffle_i32x4(even_low, even_high, 0xDD));
    store_words(to + (12 + j) * 64, _mm512_shuffle_i32x4(odd_low, odd_high, 0xDD));
  }
}

// Undoes the order that interleave_low and interleave_high gave to 32 columns; stores the first `count`.
inline void store_columns(bf16* to, int64_t count, Floats low, Floats high) {
  const Words order = _mm512_set_epi16(31, 30, 29, 28, 15, 14, 13, 12, 27, 26, 25, 24, 11, 10, 9, 8, 23, 22,
                                       21, 20, 7, 6, 5, 4, 19, 18, 17, 16, 3, 2, 1, 0);
  _mm512_mask_storeu_epi16(to, first_words(count), _mm512_permutexvar_epi16(order, rounded(low, high)));
}
inline void store_columns(float* to, int64_t count, Floats low, Floats high) {
  const Words first = _mm512_set_epi32(23, 22, 21, 20, 7, 6, 5, 4, 19, 18, 17, 16, 3, 2, 1, 0);
  const Words second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  _mm512_mask_storeu_ps(to, first_lanes(count), _mm512_permutex2var_ps(low, first, high));
  if (count > 16)
    _mm512_mask_storeu_ps(to + 16, first_lanes(count - 16), _mm512_permutex2var_ps(low, second, high));
}

#else

struct alignas(64) Floats {
  float at[16];
};
struct alignas(64) Words {
  uint16_t at[32];
};

template <class F>
inline Floats lanewise(F f) {
  Floats x;
  for (int i = 0; i < 16; ++i) x.at[i] = f(i);
  return x;
}
template <class F>
inline Lanes lanes_where(F f) {
  unsigned lanes = 0;
  for (int i = 0; i < 16; ++i) lanes |= unsigned{f(i)} << i;
  return static_cast<Lanes>(lanes);
}

inline Floats splat(float x) {
  return lanewise([&](int) { return x; });
}
inline Floats load(const float* from) {
  return lanewise([&](int i) { return from[i]; });
}
inline void store(float* to, Floats x) { std::memcpy(to, x.at, sizeof x.at); }
inline Floats add(Floats a, Floats b) {
  return lanewise([&](int i) { return a.at[i] + b.at[i]; });
}
inline Floats multiply(Floats a, Floats b) {
  return lanewise([&](int i) { return a.at[i] * b.at[i]; });
}
inline Floats divide(Floats a, Floats b) {
  return lanewise([&](int i) { return a.at[i] / b.at[i]; });
}
inline Floats multiply_subtract(Floats a, Floats b, Floats c) {
  return lanewise([&](int i) { return std::fma(a.at[i], b.at[i], -c.at[i]); });
}
inline Floats max(Floats a, Floats b) {
  return lanewise([&](int i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
}
inline Floats choose(Lanes where, Floats a, Floats b) {
  return lanewise([&](int i) { return where >> i & 1 ? a.at[i] : b.at[i]; });
}
inline Floats max(Lanes where, Floats a, Floats b) { return choose(where, max(a, b), a); }
inline Floats keep(Lanes where, Floats a) { return choose(where, a, splat(0.0F)); }
inline Lanes greater(Floats a, Floats b) {
  return lanes_where([&](int i) { return a.at[i] > b.at[i]; });
}
inline Lanes not_equal(Floats a, Floats b) {
  return lanes_where([&](int i) { return a.at[i] != b.at[i]; });
}

inline Floats exp2(Floats x) {
  return lanewise([&](int i) {
    const float whole = std::floor(x.at[i]);
    if (!(whole >= -150.0F)) return std::isnan(whole) ? whole : 0.0F;
    const float r = x.at[i] - whole;
    float p = kExp2[4];
    for (int k = 3; k >= 0; --k) p = std::fma(p, r, kExp2[k]);
    return std::ldexp(std::fma(p, r, 1.0F), static_cast<int>(std::fmin(whole, 200.0F)));
  });
}

inline Words rounded(Floats low, Floats high) {
  Words x;
  for (int i = 0; i < 16; ++i) {
    x.at[i] = to_bf16(low.at[i]).bits;
    x.at[16 + i] = to_bf16(high.at[i]).bits;
  }
  return x;
}

template <class Combine>
inline Floats across_lanes(const Floats rows[16], Combine combine) {
  Floats x = lanewise([&](int r) { return rows[r].at[0]; });
  for (int i = 1; i < 16; ++i) x = combine(x, lanewise([&](int r) { return rows[r].at[i]; }));
  return x;
}

inline Words no_words() { return Words{}; }
inline Words load_words(const bf16* from, int64_t count = 32) {
  Words x{};
  std::memcpy(x.at, from, sizeof(uint16_t) * static_cast<std::size_t>(count < 32 ? count : 32));
  return x;
}
inline void store_words(void* to, const Words& x) { std::memcpy(to, x.at, sizeof x.at); }
inline Words flip_signs(Words x) {
  for (uint16_t& word : x.at) word ^= 0x8000U;
  return x;
}
inline Words max_magnitudes(Words a, const Words& b) {
  for (int i = 0; i < 32; ++i) a.at[i] = std::max<uint16_t>(a.at[i], b.at[i] & 0x7FFFU);
  return a;
}
inline bool all_finite(const Words& magnitudes) {
  return *std::max_element(std::begin(magnitudes.at), std::end(magnitudes.at)) < 0x7F80U;
}

inline Words interleave(const Words& a, const Words& b, int half) {
  Words x;
  for (int i = 0; i < 32; ++i) x.at[i] = (i % 2 ? b : a).at[i / 8 * 8 + half * 4 + i % 8 / 2];
  return x;
}
inline Words interleave_low(const Words& a, const Words& b) { return interleave(a, b, 0); }
inline Words interleave_high(const Words& a, const Words& b) { return interleave(a, b, 1); }

inline void store_transposed_pairs(const Words rows[16], std::byte* to) {
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) std::memcpy(to + j * 64 + i * 4, rows[i].at + 2 * j, 4);
}

inline float column(int64_t i, const Floats& low, const Floats& high) {
  return (i % 8 < 4 ? low : high).at[i / 8 * 4 + i % 4];
}
inline void store_columns(bf16* to, int64_t count, Floats low, Floats high) {
  for (int64_t i = 0; i < (count < 32 ? count : 32); ++i) to[i] = to_bf16(column(i, low, high));
}
inline void store_columns(float* to, int64_t count, Floats low, Floats high) {
  for (int64_t i = 0; i < (count < 32 ? count : 32); ++i) to[i] = column(i, low, high);
}

#endif

inline Floats row_maxima(const Floats rows[16]) {
  return across_lanes(rows, [](Floats a, Floats b) { return max(a, b); });
}
inline Floats row_sums(const Floats rows[16]) {
  return across_lanes(rows, [](Floats a, Floats b) { return add(a, b); });
}

}  // namespace
}  // namespace flashmoe::cpu::amx

// SPDX-License-Identifier: MIT
// The tile registers of AMX: eight, of 16 rows by 64 bytes. In memory a tile is 1 KB, its rows one after
// another. An fp32 tile is 16 x 16. As the left operand of a product a tile is 16 rows of 32 bf16; as the
// right one it holds 32 rows of 16 columns in pairs: tile row i has, for each column, the elements of rows 2i
// and 2i + 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numeric/half.h"

namespace flashmoe::cpu::amx {

inline constexpr int64_t kTileBytes = 1024;

#if defined(__x86_64__)
// Written as assembler, since the compilers' own tile functions do not tell them that memory is touched.
struct HardwareTiles {
  struct Config {  // the operand of ldtilecfg
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };

  // While one lives, this thread may use the tiles. They are released after it: a thread that leaves them in
  // use keeps its core from deep sleep, and makes each of its context switches dearer.
  struct InUse {
    InUse() {
      alignas(64) static constexpr Config config;
      asm volatile("ldtilecfg %0" ::"m"(config));
    }
    ~InUse() { asm volatile("tilerelease"); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
  };

  template <int T>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  template <int T>
  static void load(const std::byte* from) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(int64_t{64}), "i"(T) : "memory");
  }
  template <int T>
  static void store(std::byte* to) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(int64_t{64}), "i"(T) : "memory");
  }
  template <int C, int A, int B>  // C += A B
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};
#endif

// The same in plain C++, for tests on any machine. It keeps subnormal numbers, which the hardware takes for
// 0.
struct EmulatedTiles {
  struct InUse {
    InUse() { std::memset(tiles, 0xFF, sizeof tiles); }  // NaN: a tile used before it is loaded shows
  };

  template <int T>
  static void zero() {
    std::memset(tiles[T], 0, kTileBytes);
  }
  template <int T>
  static void load(const std::byte* from) {
    std::memcpy(tiles[T], from, kTileBytes);
  }
  template <int T>
  static void store(std::byte* to) {
    std::memcpy(to, tiles[T], kTileBytes);
  }
  template <int C, int A, int B>
  static void multiply() {
    float c[16][16];
    bf16 a[16][32], b[16][32];
    std::memcpy(c, tiles[C], kTileBytes);
    std::memcpy(a, tiles[A], kTileBytes);
    std::memcpy(b, tiles[B], kTileBytes);
    float wide[32][16];  // b, row after row
    for (int i = 0; i < 32; ++i)
      for (int n = 0; n < 16; ++n) wide[i][n] = to_float(b[i / 2][2 * n + i % 2]);
    for (int m = 0; m < 16; ++m)
      for (int i = 0; i < 32; ++i)
        for (int n = 0; n < 16; ++n) c[m][n] += to_float(a[m][i]) * wide[i][n];
    std::memcpy(tiles[C], c, kTileBytes);
  }

  static inline thread_local std::byte tiles[8][kTileBytes];
};

}  // namespace flashmoe::cpu::amx

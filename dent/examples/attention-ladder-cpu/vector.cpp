// SPDX-License-Identifier: MIT
// Compute: tiles of registers and an exponential of vectors (the compiler's vector extension, so that the
// same source serves every CPU). TILE_ROWS query rows against TILE_KEYS vectors of LANES keys, then against
// TILE_COLUMNS vectors of the output.
#include <cstdint>
#include <cstring>

#include "crew.h"

#ifndef LANES
#define LANES 4
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 2
#endif
#ifndef TILE_KEYS
#define TILE_KEYS 2
#endif
#ifndef TILE_COLUMNS
#define TILE_COLUMNS 2
#endif

namespace {

using Floats = float __attribute__((vector_size(4 * LANES)));
using Ints = std::int32_t __attribute__((vector_size(4 * LANES)));

constexpr int kKeys = LANES * TILE_KEYS;        // of one tile of scores
constexpr int kColumns = LANES * TILE_COLUMNS;  // of one tile of the output
static_assert(kHeadDim % kColumns == 0, "the output's columns are a whole number of tiles");

Floats load(const float* from) {
  Floats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
void store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }
Floats all(float x) { return x - Floats{}; }
Floats larger(Floats a, Floats b) { return a > b ? a : b; }

// 2^x for x <= 0: to the whole number next to it by the exponent's bits, the rest by a polynomial. Within 2
// units in the last place; 0 below 2^-125.
Floats exp2(Floats x) {
  x = larger(x, all(-126));
  const Ints whole =
      __builtin_convertvector(x - 0.5F, Ints);  // truncation of what is below 0 rounds to nearest
  const Floats f = x - __builtin_convertvector(whole, Floats);
  Floats y = all(1.5353362e-4F);
  y = y * f + 1.3398874e-3F;
  y = y * f + 9.6184373e-3F;
  y = y * f + 5.5503324e-2F;
  y = y * f + 2.4022647e-1F;
  y = y * f + 6.9314720e-1F;
  y = y * f + 1.0F;
  const Ints scaled = reinterpret_cast<Ints>(y) + (whole << 23);
  return whole > -126 ? reinterpret_cast<Floats>(scaled) : Floats{};
}

// weight = exp2(weight - maximum) of one row; returns the sum.
float softmax(float* weight, int keys) {
  Floats largest = load(weight);
  for (int key = LANES; key < keys; key += LANES) largest = larger(largest, load(weight + key));
  float m = largest[0];
  for (int i = 1; i < LANES; ++i) m = std::max(m, largest[i]);
  Floats sums{};
  for (int key = 0; key < keys; key += LANES) {
    const Floats p = exp2(load(weight + key) - m);
    store(weight + key, p);
    sums += p;
  }
  float sum = 0;
  for (int i = 0; i < LANES; ++i) sum += sums[i];
  return sum;
}

class Tiles {
 public:
  void begin(const Head& head) {
    keys_ = (head.rows + kKeys - 1) / kKeys * kKeys;
    turned_.resize(static_cast<std::size_t>(keys_) * kHeadDim);
    weight_.resize(static_cast<std::size_t>(keys_) * TILE_ROWS);
    for (int first = 0; first < keys_; first += kKeys) {
      float* tile = turned_.data() + static_cast<std::size_t>(first) * kHeadDim;
      for (int key = 0; key < kKeys; ++key) {
        const int row = std::min(first + key, head.rows - 1);  // past the last: scores that are not used
        const float* from = head.k + static_cast<std::size_t>(row) * kHeadDim;
        for (int d = 0; d < kHeadDim; ++d) tile[d * kKeys + key] = from[d];
      }
    }
  }

  void attend(const Head& head, int first, int end) {
    for (int row = first; row < end; row += TILE_ROWS) attend_tile(head, row, end);
  }

 private:
  float* weight_of(int row) { return weight_.data() + static_cast<std::ptrdiff_t>(row) * keys_; }

  // weight = q k^T for TILE_ROWS rows, in units of log2; keys that don't exist get -infinity.
  void scores(const float* const (&query)[TILE_ROWS], int rows) {
    const float scale = 1.442695040888963F / std::sqrt(static_cast<float>(kHeadDim));
    for (int key = 0; key < keys_; key += kKeys) {
      Floats S[TILE_ROWS][TILE_KEYS] = {};
      const float* k = turned_.data() + static_cast<std::size_t>(key) * kHeadDim;
      for (int d = 0; d < kHeadDim; ++d, k += kKeys) {
        Floats column[TILE_KEYS];
        for (int i = 0; i < TILE_KEYS; ++i) column[i] = load(k + LANES * i);
        for (int row = 0; row < TILE_ROWS; ++row) {
          for (int i = 0; i < TILE_KEYS; ++i) S[row][i] += query[row][d] * column[i];
        }
      }
      for (int row = 0; row < TILE_ROWS; ++row) {
        for (int i = 0; i < TILE_KEYS; ++i) store(weight_of(row) + key + LANES * i, S[row][i] * scale);
      }
    }
    for (int row = 0; row < TILE_ROWS; ++row)
      std::fill(weight_of(row) + rows, weight_of(row) + keys_, -INFINITY);
  }

  // Rows [first, first + TILE_ROWS); those past `end` are computed from the one before it and not stored.
  void attend_tile(const Head& head, int first, int end) {
    const float* query[TILE_ROWS];
    for (int row = 0; row < TILE_ROWS; ++row) query[row] = head.q + std::min(first + row, end - 1) * kHeadDim;
    scores(query, head.rows);
    float inverse[TILE_ROWS];
    const float* weight[TILE_ROWS];
    for (int row = 0; row < TILE_ROWS; ++row) {
      weight[row] = weight_of(row);
      inverse[row] = 1 / softmax(weight_of(row), keys_);
    }
    for (int column = 0; column < kHeadDim; column += kColumns) {
      Floats O[TILE_ROWS][TILE_COLUMNS] = {};
      const float* v = head.v + column;
      for (int key = 0; key < head.rows; ++key, v += kHeadDim) {
        Floats values[TILE_COLUMNS];
        for (int i = 0; i < TILE_COLUMNS; ++i) values[i] = load(v + LANES * i);
        for (int row = 0; row < TILE_ROWS; ++row) {
          for (int i = 0; i < TILE_COLUMNS; ++i) O[row][i] += weight[row][key] * values[i];
        }
      }
      for (int row = 0; row < TILE_ROWS && first + row < end; ++row) {
        float* to = head.out + (first + row) * kHeadDim + column;
        for (int i = 0; i < TILE_COLUMNS; ++i) store(to + LANES * i, O[row][i] * inverse[row]);
      }
    }
  }

  std::vector<float> turned_;  // K of one head in tiles of kKeys keys, each [D][kKeys]
  std::vector<float> weight_;  // [TILE_ROWS][keys_]
  int keys_ = 0;               // whole tiles
};

}  // namespace

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  return for_all_rows<Tiles>(q, k, v, out, B, H, S, D);
}

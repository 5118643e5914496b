// SPDX-License-Identifier: MIT
// Compute, once more: scores lie transposed, with a panel of query rows along the lanes, so that maxima and
// sums of rows need no step across a vector. A tile of registers is PANEL_ROWS rows against PANEL_KEYS keys,
// then against PANEL_COLUMNS columns of the output.
#include <cstdint>
#include <cstring>
#include <utility>

#include "crew.h"

#ifndef LANES
#define LANES 4
#endif
#ifndef PANEL_ROWS
#define PANEL_ROWS 8
#endif
#ifndef PANEL_KEYS
#define PANEL_KEYS 8
#endif
#ifndef PANEL_COLUMNS
#define PANEL_COLUMNS 8
#endif

namespace {

using Floats = float __attribute__((vector_size(4 * LANES)));
using Ints = std::int32_t __attribute__((vector_size(4 * LANES)));

constexpr int kPanel = std::max(PANEL_ROWS, LANES), kKeys = PANEL_KEYS,
              kColumns = std::max(PANEL_COLUMNS, LANES);
constexpr int kRowVectors = kPanel / LANES, kColumnVectors = kColumns / LANES;
static_assert(kPanel % LANES == 0 && kColumns % LANES == 0 && kHeadDim % kColumns == 0, "no vector is cut");
static_assert(kPanel % 4 == 0 && kKeys % 4 == 0, "rows are turned four at a time");

Floats load(const float* from) {
  Floats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
void store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }
Floats all(float x) { return x - Floats{}; }
Floats larger(Floats a, Floats b) { return a > b ? a : b; }

// from[i] in every lane. An Arm multiplies by one lane of a vector for nothing, others by a number in memory.
template <int i>
Floats spread(const float* from) {
#if defined(__aarch64__) && LANES == 4
  const Floats x = load(from + i / 4 * 4);
  return __builtin_shufflevector(x, x, i % 4, i % 4, i % 4, i % 4);
#else
  return all(from[i]);
#endif
}

// work(0) ... work(n - 1), each with its number as a constant.
template <int n, class Work>
void repeat(const Work& work) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (work(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, n>());
}

// 2^x for x <= 0, within 2 units in the last place; never less than 2^-126.
Floats exp2(Floats x) {
  constexpr float kRound =
      12582912;  // 1.5 * 2^23: a sum with it has no fraction, and its last bits are whole numbers
  x = larger(x, all(-126));
  const Floats shifted = x + kRound;
  const Floats f = x - (shifted - kRound), f2 = f * f;
  Floats y = all(1.5353362e-4F);
  y = y * f2 + (1.3398874e-3F * f + 9.6184373e-3F);
  y = y * f2 + (5.5503324e-2F * f + 2.4022647e-1F);
  y = y * f2 + (6.9314720e-1F * f + 1.0F);
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(y) + (reinterpret_cast<Ints>(shifted) << 23));
}

// Rows [first, first + width) as [D][width]; those from `end` on are copies of the last.
template <int width>
void turn(const float* rows, int first, int end, float* to) {
  using Four = float __attribute__((vector_size(16)));
  const auto low = [](Four a, Four b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); };
  const auto high = [](Four a, Four b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); };
  for (int row = 0; row < width; row += 4) {
    const float* from[4];
    for (int i = 0; i < 4; ++i) from[i] = rows + std::min(first + row + i, end - 1) * kHeadDim;
    for (int d = 0; d < kHeadDim; d += 4) {
      Four x[4];
      for (int i = 0; i < 4; ++i) std::memcpy(&x[i], from[i] + d, sizeof x[i]);
      const Four even[2] = {low(x[0], x[2]), high(x[0], x[2])}, odd[2] = {low(x[1], x[3]), high(x[1], x[3])};
      for (int i = 0; i < 4; ++i) {
        const Four y = i % 2 == 0 ? low(even[i / 2], odd[i / 2]) : high(even[i / 2], odd[i / 2]);
        std::memcpy(to + (d + i) * width + row, &y, sizeof y);
      }
    }
  }
}

// weight = k q^T for one tile, and the largest of each row so far.
void scores(const float* q, const float* k, float* weight, Floats (&largest)[kRowVectors]) {
  Floats S[kKeys][kRowVectors] = {};
  for (int d = 0; d < kHeadDim; ++d, q += kPanel, k += kKeys) {
    Floats rows[kRowVectors];
    for (int i = 0; i < kRowVectors; ++i) rows[i] = load(q + LANES * i);
    repeat<kKeys>([&](auto key) {
      for (int i = 0; i < kRowVectors; ++i) S[key][i] += spread<key>(k) * rows[i];
    });
  }
  for (int key = 0; key < kKeys; ++key) {
    for (int i = 0; i < kRowVectors; ++i) {
      largest[i] = larger(largest[i], S[key][i]);
      store(weight + key * kPanel + LANES * i, S[key][i]);
    }
  }
}

// weight = exp2(scale (weight - largest)) for the whole panel, `sum` of it. `keys` is even; two keys at a
// time keep the processor busy while each waits for its own last step.
void softmax(float* weight, int keys, const Floats (&largest)[kRowVectors], Floats (&sum)[kRowVectors]) {
  const float scale = 1.442695040888963F / std::sqrt(static_cast<float>(kHeadDim));
  for (int key = 0; key < keys; key += 2, weight += 2 * kPanel) {
    Floats p[2 * kRowVectors];
    for (int i = 0; i < 2 * kRowVectors; ++i) {
      p[i] = exp2((load(weight + LANES * i) - largest[i % kRowVectors]) * scale);
    }
    for (int i = 0; i < 2 * kRowVectors; ++i) {
      store(weight + LANES * i, p[i]);
      sum[i % kRowVectors] += p[i];
    }
  }
}

// `rows` rows of one tile of the output.
void products(const float* weight, const float* v, int keys, const float* inverse, float* out, int rows) {
  Floats O[kPanel][kColumnVectors] = {};
  for (int key = 0; key < keys; ++key, weight += kPanel, v += kHeadDim) {
    Floats values[kColumnVectors];
    for (int i = 0; i < kColumnVectors; ++i) values[i] = load(v + LANES * i);
    repeat<kPanel>([&](auto row) {
      for (int i = 0; i < kColumnVectors; ++i) O[row][i] += spread<row>(weight) * values[i];
    });
  }
  for (int row = 0; row < kPanel && row < rows; ++row) {
    for (int i = 0; i < kColumnVectors; ++i)
      store(out + row * kHeadDim + LANES * i, O[row][i] * inverse[row]);
  }
}

class Panels {
 public:
  void begin(const Head& head) {
    const int tiles = (head.rows + kKeys - 1) / kKeys;
    turned_.resize(static_cast<std::size_t>(tiles * kKeys * kHeadDim));
    weight_.resize(static_cast<std::size_t>(tiles * kKeys * kPanel));
    for (int key = 0; key < head.rows; key += kKeys) {
      turn<kKeys>(head.k, key, head.rows, turned_.data() + key * kHeadDim);
    }
  }

  void attend(const Head& head, int first, int end) {
    for (int row = first; row < end; row += kPanel) attend_panel(head, row, end);
  }

 private:
  void attend_panel(const Head& head, int first, int end) {
    float* weight = weight_.data();
    const int keys = (head.rows + kKeys - 1) / kKeys * kKeys;
    turn<kPanel>(head.q, first, end, query_);
    Floats largest[kRowVectors];
    for (Floats& x : largest) x = all(-INFINITY);
    for (int key = 0; key < head.rows; key += kKeys) {
      scores(query_, turned_.data() + key * kHeadDim, weight + key * kPanel, largest);
    }
    std::fill(weight + head.rows * kPanel, weight + keys * kPanel, -INFINITY);
    Floats sum[kRowVectors] = {};
    softmax(weight, keys, largest, sum);
    float inverse[kPanel];
    for (int i = 0; i < kRowVectors; ++i) store(inverse + LANES * i, 1 / sum[i]);
    for (int column = 0; column < kHeadDim; column += kColumns) {
      products(weight, head.v + column, head.rows, inverse, head.out + first * kHeadDim + column,
               end - first);
    }
  }

  float query_[kHeadDim * kPanel];  // the panel's rows: [D][kPanel]
  std::vector<float> turned_;       // K of one head in tiles of kKeys keys, each [D][kKeys]
  std::vector<float> weight_;       // [keys][kPanel]
};

}  // namespace

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  return for_all_rows<Panels>(q, k, v, out, B, H, S, D);
}

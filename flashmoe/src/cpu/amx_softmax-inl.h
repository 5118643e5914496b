// SPDX-License-Identifier: MIT
// The online softmax of the AMX kernel, between its two products: S in fp32 tiles becomes P in bf16 tiles.
//
// A row keeps the base m that its weights exp2(score - m) refer to, in units of log2, and 16 partial sums l
// of them. m is raised only when a score exceeds it by more than kSlack: weights of up to 2^kSlack are as
// exact as those below 1, and O hardly ever needs rescaling. m is -inf as long as a row has seen nothing but
// -inf.
#pragma once

#include "cpu/amx_products-inl.h"
#include "cpu/large_scores.h"

namespace flashmoe::cpu::amx {
namespace {

constexpr float kSlack = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct alignas(64) PanelState {
  float base[kPanelRows];      // m
  float sums[kPanelRows][16];  // l, one for each lane

  void reset() {
    for (int64_t r = 0; r < kPanelRows; ++r) {
      base[r] = -kInfinity;
      store(sums[r], splat(0.0F));
    }
  }
};

// Which keys of a block the rows of a panel see.
struct Visible {
  int64_t rows;                  // of the panel that exist
  int64_t keys;                  // no row sees more, at least 1
  int64_t full_begin, full_end;  // every row sees these
  int32_t begins[kPanelRows];    // row r sees [begins[r], limits[r]); both are filled where `cut()`
  int32_t limits[kPanelRows];

  bool cut() const { return full_begin > 0 || full_end < keys; }
  int64_t of_row(int64_t r) const { return cut() ? limits[r] : keys; }
  int64_t chunks() const { return (keys + kChunkKeys - 1) / kChunkKeys; }
  bool whole_block() const { return !cut() && keys == kBlockKeys; }
};

// Row r of a panel in S (16 scores of key tile 0) and in P (32 weights of chunk 0).
inline float* score_row(std::byte* s, int64_t r) {
  return reinterpret_cast<float*>(s + r / kTileRows * 2 * kBlockChunks * kTileBytes + r % kTileRows * 64);
}
inline std::byte* weight_row(std::byte* p, int64_t r) {
  return p + r / kTileRows * kBlockChunks * kTileBytes + r % kTileRows * 64;
}
constexpr int64_t kTileFloats = kTileBytes / 4;

// Keys before those that a row sees get scores of -inf, which weigh nothing.
inline void hide_first_keys(std::byte* s, const Visible& visible) {
  if (visible.full_begin == 0) return;
  for (int64_t r = 0; r < visible.rows; ++r) {
    for (int64_t key = 0; key < visible.begins[r]; ++key)
      score_row(s, r)[key / kTileRows * kTileFloats + key % kTileRows] = -kInfinity;
  }
}

template <bool kWhole>
inline Floats largest_score(const float* s, int64_t keys) {
  Floats even = splat(-kInfinity);
  Floats odd = even;
  if constexpr (kWhole) {
    for (int64_t tile = 0; tile < 2 * kBlockChunks; tile += 2) {
      even = max(even, load(s + tile * kTileFloats));
      odd = max(odd, load(s + (tile + 1) * kTileFloats));
    }
    return max(even, odd);
  } else {
    for (; keys >= kTileRows; keys -= kTileRows, s += kTileFloats) even = max(even, load(s));
    return keys == 0 ? even : max(first_lanes(keys), even, load(s));
  }
}

// Largest scores of 16 rows from `first` on, in units of log2.
template <bool kWhole>
inline Floats largest_scores(std::byte* s, int64_t first, const Visible& visible, float scale_log2e) {
  Floats rows[kTileRows];
  for (int64_t r = 0; r < kTileRows; ++r) {
    const bool exists = kWhole || first + r < visible.rows;
    rows[r] = exists ? largest_score<kWhole>(score_row(s, first + r), visible.of_row(first + r))
                     : splat(-kInfinity);
  }
  return multiply(row_maxima(rows), splat(scale_log2e));
}

// Weights of one row; returns their sums. Those of keys that it does not see are exactly 0.
template <bool kWhole>
[[gnu::always_inline]] inline Floats weigh(const float* s, std::byte* p, int64_t keys, int64_t chunks,
                                           Floats scale_log2e, Floats base) {
  const auto weights = [&](const float* from) {
    return exp2(multiply_subtract(load(from), scale_log2e, base));
  };
  Floats even = splat(0.0F);
  Floats odd = even;
  if constexpr (kWhole) {
#pragma GCC unroll 4
    for (int64_t chunk = 0; chunk < kBlockChunks; ++chunk) {
      const Floats low = weights(s + 2 * chunk * kTileFloats);
      const Floats high = weights(s + (2 * chunk + 1) * kTileFloats);
      even = add(even, low);
      odd = add(odd, high);
      store_words(p + chunk * kTileBytes, rounded(low, high));
    }
  } else {
    for (int64_t chunk = 0; chunk < chunks; ++chunk, keys -= kChunkKeys) {
      Words both = no_words();
      if (keys > 0) {
        const Floats low = keep(first_lanes(keys), weights(s + 2 * chunk * kTileFloats));
        const Floats high = keep(first_lanes(keys - kTileRows), weights(s + (2 * chunk + 1) * kTileFloats));
        even = add(even, low);
        odd = add(odd, high);
        both = rounded(low, high);
      }
      store_words(p + chunk * kTileBytes, both);
    }
  }
  return add(even, odd);
}

// S becomes P. `between_rows` is called after each row: work for the tile unit.
template <bool kWhole, class BetweenRows>
inline void weigh_panel(std::byte* s, std::byte* p, const Visible& visible, float scale_log2e,
                        PanelState& state, BetweenRows between_rows) {
  for (int64_t r = 0; r < visible.rows; ++r) {
    const float base = state.base[r] == -kInfinity ? 0.0F : state.base[r];  // -inf - -inf would be NaN
    Floats scale = splat(scale_log2e);
    if (std::abs(base) > kLargeScore) {
      float* row = score_row(s, r);
      for (int64_t tile = 0; tile < 2 * visible.chunks(); ++tile, row += kTileFloats)
        store(row, multiply(load(row), scale));
      scale = splat(1.0F);
    }
    const Floats sums = weigh<kWhole>(score_row(s, r), weight_row(p, r), visible.of_row(r), visible.chunks(),
                                      scale, splat(base));
    store(state.sums[r], add(load(state.sums[r]), sums));
    between_rows(r);
  }
}

// Rows of O, [row tile][2 * depth] tiles, and their sums, times `factors`.
inline void rescale(PanelState& state, std::byte* o, bool fresh, int64_t depth, int64_t first,
                    const float* factors) {
  for (int64_t r = 0; r < kTileRows; ++r) {
    if (factors[r] == 1.0F) continue;
    const Floats factor = splat(factors[r]);
    store(state.sums[first + r], multiply(load(state.sums[first + r]), factor));
    if (fresh) continue;
    auto* row = reinterpret_cast<float*>(o + first / kTileRows * 2 * depth * kTileBytes + r * 64);
    for (int64_t tile = 0; tile < 2 * depth; ++tile, row += kTileFloats)
      store(row, multiply(load(row), factor));
  }
}

// Raises the bases to the new scores where those exceed them by more than kSlack. `before_rescaling` is
// called first when that changes anything: what is still to be added to O must be there by then.
template <class BeforeRescaling>
inline void raise_bases(std::byte* s, const Visible& visible, float scale_log2e, PanelState& state,
                        std::byte* o, bool fresh, int64_t depth, BeforeRescaling before_rescaling) {
  for (int64_t first = 0; first < visible.rows; first += kTileRows) {
    const bool whole = visible.whole_block() && first + kTileRows <= visible.rows;
    const Floats highest = whole ? largest_scores<true>(s, first, visible, scale_log2e)
                                 : largest_scores<false>(s, first, visible, scale_log2e);
    const Floats base = load(state.base + first);
    const Lanes raised = greater(highest, add(base, splat(kSlack)));
    if (raised == 0) continue;
    before_rescaling();
    alignas(64) float factors[kTileRows];
    store(factors, choose(raised, exp2(add(base, multiply(highest, splat(-1.0F)))), splat(1.0F)));
    store(state.base + first, choose(raised, highest, base));
    rescale(state, o, fresh, depth, first, factors);
  }
}

}  // namespace
}  // namespace flashmoe::cpu::amx

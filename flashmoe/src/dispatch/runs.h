// SPDX-License-Identifier: MIT
// What a problem's rows see: as kernels are told it, and how much of it a tile of rows walks over.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/runs.h"
#include "numeric/ceil_div.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

inline kernels::Runs runs_of(const ForwardProblem& p) {
  const int64_t position = p.first_position();
  const auto cut = [&](int64_t key) { return static_cast<int>(std::clamp(key, -p.q_rows, p.kv_rows)); };
  // Compared so that nothing overflows, whatever the window is.
  const bool hides_none = p.window.left >= position + p.q_rows;
  const bool shows_all = p.keys_behind() >= p.kv_rows - position;
  return {.begin = hides_none ? cut(-p.q_rows) : cut(position - p.window.left),
          .end = shows_all ? cut(p.kv_rows) : cut(position + p.keys_behind() + 1)};
}

inline kernels::Runs everything(const ForwardProblem& p) {
  return {.begin = static_cast<int>(-p.q_rows), .end = static_cast<int>(p.kv_rows)};
}

// Blocks of keys from the one with the first key that a tile's first row sees to the one with the last key
// that its last row sees. Rows are packed, `pack` heads of one position side by side.
inline int64_t key_blocks(const ForwardProblem& p, int tile_q, int tile_kv, int pack, int64_t tile) {
  const int64_t last = std::min(p.q_rows * pack, (tile + 1) * tile_q) - 1;
  const int64_t begin = p.window.limits() ? p.visible(tile * tile_q / pack).begin / tile_kv : 0;
  return ceil_div(p.visible(last / pack).end, int64_t{tile_kv}) - begin;
}

// The most keys that so many neighbouring rows see between them, or a few more.
inline int64_t most_keys(const ForwardProblem& p, int64_t rows) {
  const auto side = [&](int64_t keys) { return std::min(keys, p.kv_rows); };
  return std::min(p.kv_rows, side(p.window.left) + side(p.keys_behind()) + rows);
}

}  // namespace flashmoe::dispatch

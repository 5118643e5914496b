// SPDX-License-Identifier: MIT
// Fixed patterns of visible (row, key) pairs in mask tensors, for Shape::pairs_shown.
#pragma once

#include <cstdint>

namespace flashmoe::test {

// Causal; each head and batch entry sees further than the one before.
inline bool causal_pairs(int64_t batch, int64_t head, int64_t row, int64_t key) {
  return key <= row + 40 * head + 25 * batch;
}
// A checkerboard: tiles are visible, hidden, or partly visible.
inline bool patches_of_pairs(int64_t batch, int64_t head, int64_t row, int64_t key) {
  return ((row + 30 * head) / 210 + (key + 70 * batch) / 170) % 2 != 0;
}
// Some rows see no key, and some keys are seen by no row.
inline bool some_rows_and_keys(int64_t batch, int64_t head, int64_t row, int64_t key) {
  return (row + head) % 9 != 2 && (key + batch) % 7 != 3;
}
inline bool all_pairs(int64_t, int64_t, int64_t, int64_t) { return true; }
inline bool no_pairs(int64_t, int64_t, int64_t, int64_t) { return false; }

}  // namespace flashmoe::test

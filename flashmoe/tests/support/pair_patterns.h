// SPDX-License-Identifier: MIT
// Which pairs a tensor lets count, beside random ones: for Shape::pairs_shown.
#pragma once

#include <cstdint>

namespace flashmoe::test {

// Heads, and batch entries, see further than the ones before.
inline bool causal_pairs(int64_t batch, int64_t head, int64_t row, int64_t key) {
  return key <= row + 40 * head + 25 * batch;
}
// Every other patch of rows and keys: whole tiles, none, and parts of them.
inline bool patches_of_pairs(int64_t batch, int64_t head, int64_t row, int64_t key) {
  return ((row + 30 * head) / 210 + (key + 70 * batch) / 170) % 2 != 0;
}
// Some rows see nothing, and some keys are seen by nobody.
inline bool some_rows_and_keys(int64_t batch, int64_t head, int64_t row, int64_t key) {
  return (row + head) % 9 != 2 && (key + batch) % 7 != 3;
}
inline bool all_pairs(int64_t, int64_t, int64_t, int64_t) { return true; }
inline bool no_pairs(int64_t, int64_t, int64_t, int64_t) { return false; }

}  // namespace flashmoe::test

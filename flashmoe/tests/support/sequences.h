// SPDX-License-Identifier: MIT
// Test problems with variable-length sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::test {

// First row of each sequence, and the end of the last one.
inline std::vector<int32_t> starts_of(const std::vector<int32_t>& lengths, int32_t first = 0) {
  std::vector<int32_t> starts{first};
  for (const int32_t length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

// Number of sequences, or of batch entries, of a call.
template <class Args>
int64_t sequences_of(const Args& args) {
  return args.lengths.given() ? args.lengths.sequences : args.q.sizes[0];
}

// `shape` with packed sequences of these lengths, followed by `extra` rows that belong to no sequence.
inline Shape packed(Shape shape, const std::vector<int32_t>& q, const std::vector<int32_t>& k,
                    int32_t extra = 0) {
  shape.batch = static_cast<int64_t>(q.size());
  shape.q_starts = starts_of(q);
  shape.k_starts = starts_of(k);
  shape.q_rows = shape.q_starts.back() + extra;
  shape.kv_rows = shape.k_starts.back() + extra;
  return shape;
}

// `shape` as a padded batch of sequences of these lengths.
inline Shape padded(Shape shape, const std::vector<int32_t>& q, const std::vector<int32_t>& k) {
  shape.batch = static_cast<int64_t>(q.size());
  shape.q_used = q;
  shape.k_used = k;
  return shape;
}

// Random lengths with sums of at most `rows` and `keys`; each side packed or padded, all rows used or not.
inline void throw_lengths(Dice& dice, int64_t rows, int64_t keys, Shape& shape) {
  shape.batch = dice.one_of({1, 2, 3, 5, 9});
  const auto throw_side = [&](int64_t total, int64_t& tensor_rows, std::vector<int32_t>& starts,
                              std::vector<int32_t>& used) {
    const int64_t share = total / shape.batch;
    std::vector<int32_t> lengths;
    for (int64_t i = 0; i < shape.batch; ++i) {
      // A quarter of the sequences are empty or have a single row.
      const int64_t most = dice.between(0, 3) == 0 ? std::min<int64_t>(share, 1) : share;
      lengths.push_back(static_cast<int32_t>(dice.between(0, most)));
    }
    if (dice.between(0, 1) == 0) {
      starts = starts_of(lengths, static_cast<int32_t>(dice.one_of({0, 0, 0, 3})));
      tensor_rows = starts.back() + dice.one_of({0, 0, 5});
      if (dice.between(0, 2) > 0) return;
    } else {
      tensor_rows = share;
    }
    used = lengths;
    if (!starts.empty())
      for (int32_t& length : used) length = static_cast<int32_t>(dice.between(0, length));
  };
  throw_side(rows, shape.q_rows, shape.q_starts, shape.q_used);
  throw_side(keys, shape.kv_rows, shape.k_starts, shape.k_used);
}

}  // namespace flashmoe::test

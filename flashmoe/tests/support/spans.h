// SPDX-License-Identifier: MIT
// Test problems with document, prefix, padding and chunk masks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/dice.h"
#include "support/problem.h"

namespace flashmoe::test {

// Document ids for `keys` keys: documents of these lengths; the last one takes the remaining keys.
inline std::vector<int32_t> documents_of(const std::vector<int64_t>& lengths, int64_t keys) {
  std::vector<int32_t> ids;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    ids.insert(ids.end(), static_cast<std::size_t>(lengths[i]), static_cast<int32_t>(i));
  ids.resize(static_cast<std::size_t>(keys), static_cast<int32_t>(lengths.size()));
  return ids;
}

// Random masks, one or several at once; call after the lengths are set, if the shape has variable lengths.
inline void throw_spans(Dice& dice, Shape& shape) {
  const auto per_entry = [&](std::vector<int32_t>& numbers) {
    for (int64_t b = 0; b < shape.batch; ++b)
      numbers.push_back(static_cast<int32_t>(dice.between(-1, shape.kv_rows + 1)));
  };
  const int64_t which = dice.between(1, 31);
  if ((which & 1) != 0) {
    const int64_t entries = dice.between(0, 1) == 0 || !shape.k_starts.empty() ? 1 : shape.batch;
    for (int64_t b = 0; b < entries; ++b) {
      const int64_t most = std::max<int64_t>(shape.kv_rows >> dice.between(0, 5), 1);
      while (static_cast<int64_t>(shape.documents.size()) < (b + 1) * shape.kv_rows) {
        const int64_t left = (b + 1) * shape.kv_rows - static_cast<int64_t>(shape.documents.size());
        const int64_t length = std::min(left, dice.between(1, most));
        // Ids may repeat, and neighbouring pieces may be one document.
        shape.documents.insert(shape.documents.end(), static_cast<std::size_t>(length),
                               static_cast<int32_t>(dice.between(0, 3)));
      }
    }
  }
  if ((which & 2) != 0) per_entry(shape.prefix);
  if ((which & 4) != 0) per_entry(shape.left_padding);
  if ((which & 8) != 0)
    shape.chunk = dice.one_of({dice.between(1, shape.kv_rows), int64_t{64}, int64_t{1}, INT64_MAX});
  if ((which & 16) != 0)
    shape.first_keys = dice.one_of({dice.between(1, 9), dice.between(1, shape.kv_rows), INT64_MAX});
}

}  // namespace flashmoe::test

// SPDX-License-Identifier: MIT
// The softmax of a row over some of its keys, as one share of a result tells it to a merge.
#pragma once

namespace flashmoe::kernels {

// Kept apart, not as max + log2(sum): next to a large maximum the sum would be rounded away.
struct alignas(8) RowStats {
  float max;  // of the scores, in units of log2; -inf when the row sees no key
  float sum;  // of exp2(score - max)
};

}  // namespace flashmoe::kernels

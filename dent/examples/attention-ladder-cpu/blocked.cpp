// SPDX-License-Identifier: MIT
// Memory: K is turned once per head, so that scores of neighbouring keys lie side by side, and BLOCK_ROWS
// query rows use each key while it is near. Plain loops, in an order in which the compiler can use vectors by
// itself.
#include "crew.h"

#ifndef BLOCK_ROWS
#define BLOCK_ROWS 4
#endif

struct Blocked {
  std::vector<float> turned;  // [D][S]
  std::vector<float> weight;  // [BLOCK_ROWS][S]

  void begin(const Head& head) {
    const auto S = static_cast<std::size_t>(head.rows);
    turned.resize(S * kHeadDim);
    weight.resize(S * BLOCK_ROWS);
    for (std::size_t key = 0; key < S; ++key) {
      for (std::size_t d = 0; d < kHeadDim; ++d) turned[d * S + key] = head.k[key * kHeadDim + d];
    }
  }

  void attend(const Head& head, int first, int end) {
    for (int row = first; row < end; row += BLOCK_ROWS)
      attend_block(head, row, std::min(BLOCK_ROWS, end - row));
  }

  void attend_block(const Head& head, int first, int rows) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
    const int S = head.rows;
    std::fill(weight.begin(), weight.end(), 0.0F);
    for (int d = 0; d < kHeadDim; ++d) {
      const float* keys = turned.data() + static_cast<std::ptrdiff_t>(d) * S;
      for (int row = 0; row < rows; ++row) {
        const float query = head.q[(first + row) * kHeadDim + d] * scale;
        float* scores = weight.data() + static_cast<std::ptrdiff_t>(row) * S;
        for (int key = 0; key < S; ++key) scores[key] += query * keys[key];
      }
    }
    for (int row = 0; row < rows; ++row) {
      float* scores = weight.data() + static_cast<std::ptrdiff_t>(row) * S;
      const float largest = *std::max_element(scores, scores + S);
      float sum = 0;
      for (int key = 0; key < S; ++key) sum += scores[key] = std::exp(scores[key] - largest);
      float result[kHeadDim] = {};
      for (int key = 0; key < S; ++key) {
        for (int d = 0; d < kHeadDim; ++d) result[d] += scores[key] * head.v[key * kHeadDim + d];
      }
      for (int d = 0; d < kHeadDim; ++d) head.out[(first + row) * kHeadDim + d] = result[d] / sum;
    }
  }
};

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  return for_all_rows<Blocked>(q, k, v, out, B, H, S, D);
}

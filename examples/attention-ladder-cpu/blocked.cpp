// SPDX-License-Identifier: MIT
// Memory: K is turned once per head, so that scores of neighbouring keys lie side by side, and BLOCK_ROWS
// query rows use each key while it is near. Plain loops, in an order in which the compiler can use vectors by
// itself.
#include <algorithm>
#include <vector>

#include "problem.h"

#ifndef BLOCK_ROWS
#define BLOCK_ROWS 2
#endif

namespace {

void attend(const Head& head, std::vector<float>& turned, std::vector<float>& weight) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
  const int S = head.rows;
  for (int key = 0; key < S; ++key) {
    for (int d = 0; d < kHeadDim; ++d)
      turned[static_cast<std::size_t>(d) * S + key] = head.k[key * kHeadDim + d];
  }
  for (int first = 0; first < S; first += BLOCK_ROWS) {
    const int rows = std::min(BLOCK_ROWS, S - first);
    std::fill(weight.begin(), weight.end(), 0.0F);
    for (int d = 0; d < kHeadDim; ++d) {
      const float* keys = &turned[static_cast<std::size_t>(d) * S];
      for (int row = 0; row < rows; ++row) {
        const float query = head.q[(first + row) * kHeadDim + d] * scale;
        float* scores = &weight[static_cast<std::size_t>(row) * S];
        for (int key = 0; key < S; ++key) scores[key] += query * keys[key];
      }
    }
    for (int row = 0; row < rows; ++row) {
      float* scores = &weight[static_cast<std::size_t>(row) * S];
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
}

}  // namespace

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  if (D != kHeadDim) return 1;
  std::vector<float> turned(static_cast<std::size_t>(S) * kHeadDim),
      weight(static_cast<std::size_t>(S) * BLOCK_ROWS);
  for (int index = 0; index < B * H; ++index) attend(head_of(q, k, v, out, S, index), turned, weight);
  return 0;
}

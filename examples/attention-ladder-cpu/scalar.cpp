// SPDX-License-Identifier: MIT
// Where the climb starts, and what it is measured by: one query row at a time, one key at a time.
#include <vector>

#include "problem.h"

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  if (D != kHeadDim) return 1;
  const float scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
  std::vector<float> weight(static_cast<std::size_t>(S));
  for (int index = 0; index < B * H; ++index) {
    const Head head = head_of(q, k, v, out, S, index);
    for (int row = 0; row < S; ++row) {
      float largest = -INFINITY, sum = 0;
      for (int key = 0; key < S; ++key) {
        float dot = 0;
        for (int d = 0; d < kHeadDim; ++d) dot += head.q[row * kHeadDim + d] * head.k[key * kHeadDim + d];
        weight[key] = dot * scale;
        largest = std::fmax(largest, weight[key]);
      }
      for (int key = 0; key < S; ++key) sum += weight[key] = std::exp(weight[key] - largest);
      float* result = head.out + row * kHeadDim;
      for (int d = 0; d < kHeadDim; ++d) result[d] = 0;
      for (int key = 0; key < S; ++key) {
        for (int d = 0; d < kHeadDim; ++d) result[d] += weight[key] / sum * head.v[key * kHeadDim + d];
      }
    }
  }
  return 0;
}

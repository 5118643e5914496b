// SPDX-License-Identifier: MIT
// Where the climb starts, and what it is measured by: one query row at a time, one key at a time.
#include "crew.h"

struct Scalar {
  std::vector<float> weight;

  void begin(const Head& head) { weight.resize(static_cast<std::size_t>(head.rows)); }

  void attend(const Head& head, int first, int end) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
    for (int row = first; row < end; ++row) {
      float largest = -INFINITY, sum = 0;
      for (int key = 0; key < head.rows; ++key) {
        float dot = 0;
        for (int d = 0; d < kHeadDim; ++d) dot += head.q[row * kHeadDim + d] * head.k[key * kHeadDim + d];
        weight[key] = dot * scale;
        largest = std::fmax(largest, weight[key]);
      }
      for (int key = 0; key < head.rows; ++key) sum += weight[key] = std::exp(weight[key] - largest);
      float* result = head.out + row * kHeadDim;
      for (int d = 0; d < kHeadDim; ++d) result[d] = 0;
      for (int key = 0; key < head.rows; ++key) {
        for (int d = 0; d < kHeadDim; ++d) result[d] += weight[key] / sum * head.v[key * kHeadDim + d];
      }
    }
  }
};

int attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  return for_all_rows<Scalar>(q, k, v, out, B, H, S, D);
}

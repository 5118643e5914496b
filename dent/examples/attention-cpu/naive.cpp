// SPDX-License-Identifier: MIT
// A baseline without dependencies: out = softmax(q k^T / sqrt(D)) v, one row at a time. It knows nothing of
// dent; the manifest gives its declaration, and dent writes the entry.
#include <cmath>
#include <vector>

void naive_attention(const float* q, const float* k, const float* v, float* out, int B, int H, int S, int D) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(D));
  std::vector<float> weight(S);
  for (long head = 0; head < static_cast<long>(B) * H; ++head) {
    const float* keys = k + head * S * D;
    const float* values = v + head * S * D;
    for (int row = 0; row < S; ++row) {
      const float* query = q + (head * S + row) * D;
      float* result = out + (head * S + row) * D;
      float largest = -INFINITY;
      for (int j = 0; j < S; ++j) {
        float dot = 0;
        for (int d = 0; d < D; ++d) dot += query[d] * keys[j * D + d];
        weight[j] = dot * scale;
        largest = std::fmax(largest, weight[j]);
      }
      float sum = 0;
      for (int j = 0; j < S; ++j) sum += weight[j] = std::exp(weight[j] - largest);
      for (int d = 0; d < D; ++d) result[d] = 0;
      for (int j = 0; j < S; ++j) {
        for (int d = 0; d < D; ++d) result[d] += weight[j] / sum * values[j * D + d];
      }
    }
  }
}

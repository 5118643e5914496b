// SPDX-License-Identifier: MIT
// A baseline without dependencies, one pair of a query and a key at a time: with P = exp(q k^T / sqrt(D) -
// lse) and dS = P (dout v^T - dout . out), dv is P^T dout, dq is dS k / sqrt(D) and dk is dS^T q / sqrt(D).
#include <algorithm>
#include <cmath>

void naive_attention_backward(const float* q, const float* k, const float* v, const float* out,
                              const float* lse, const float* dout, float* dq, float* dk, float* dv, int B,
                              int H, int Hkv, int Sq, int Skv, int D) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(D));
  const long heads = static_cast<long>(B) * H, kv_heads = static_cast<long>(B) * Hkv;
  std::fill(dq, dq + heads * Sq * D, 0.0F);
  for (float* gradient : {dk, dv}) std::fill(gradient, gradient + kv_heads * Skv * D, 0.0F);
  const auto dot = [D](const float* x, const float* y) {
    float sum = 0;
    for (int d = 0; d < D; ++d) sum += x[d] * y[d];
    return sum;
  };
  for (long head = 0; head < heads; ++head) {
    for (int row = 0; row < Sq; ++row) {
      const long i = head * Sq + row;
      const float delta = dot(dout + i * D, out + i * D);
      for (int key = 0; key < Skv; ++key) {
        const long j = head / (H / Hkv) * Skv + key;
        const float p = std::exp(dot(q + i * D, k + j * D) * scale - lse[i]);
        const float ds = p * (dot(dout + i * D, v + j * D) - delta) * scale;
        for (int d = 0; d < D; ++d) {
          dv[j * D + d] += p * dout[i * D + d];
          dq[i * D + d] += ds * k[j * D + d];
          dk[j * D + d] += ds * q[i * D + d];
        }
      }
    }
  }
}

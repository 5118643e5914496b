// SPDX-License-Identifier: MIT
// The problem that every rung solves: out = softmax(q k^T / sqrt(D)) v, fp32, dense [B, H, S, D] with D = 64.
#pragma once

#include <cmath>
#include <cstddef>

constexpr int kHeadDim = 64;

struct Head {
  const float* q;
  const float* k;
  const float* v;
  float* out;
  int rows;  // S
};

inline Head head_of(const float* q, const float* k, const float* v, float* out, int S, int head) {
  const std::size_t offset = static_cast<std::size_t>(head) * static_cast<std::size_t>(S) * kHeadDim;
  return {q + offset, k + offset, v + offset, out + offset, S};
}

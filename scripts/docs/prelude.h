// SPDX-License-Identifier: MIT
// What the C++ blocks of the documents take for granted: q, k, v and out, and somebody who reports what they
// throw.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "flashmoe/attention.h"
#ifdef DOCS_CUDA
#include <cuda_runtime.h>
inline bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}
#endif

inline int failures = 0;

inline void run(const char* where, void (*block)()) {
  try {
    block();
    std::printf("ok %s\n", where);
  } catch (const std::exception& error) {
    std::printf("FAILED %s: %s\n", where, error.what());
    ++failures;
  }
}

inline void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

#define DOCS_PRELUDE                                                                       \
  constexpr int64_t batch = 2, heads = 4, rows = 37, head_dim = 64;                        \
  std::vector<float> data(4 * batch * heads * rows * head_dim);                            \
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 17) / 17; \
  const auto tensor = [&](int which) {                                                     \
    return flashmoe::Tensor::dense(data.data() + which * batch * heads * rows * head_dim,  \
                                   flashmoe::DType::fp32, {batch, heads, rows, head_dim}); \
  };                                                                                       \
  [[maybe_unused]] flashmoe::Tensor q = tensor(0), k = tensor(1), v = tensor(2), out = tensor(3);

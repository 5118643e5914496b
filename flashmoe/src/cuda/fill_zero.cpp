// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>

#include "api/footprint.h"
#include "cuda/backward.h"

namespace flashmoe::cuda {
namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::backend,
              std::string("attention_backward: cudaMemset2DAsync: ") + cudaGetErrorString(status));
}

}  // namespace

void fill_zero(const Tensor& t, void* stream) {
  for (const int64_t size : t.sizes) {
    if (size == 0) return;
  }
  const Footprint bytes = Footprint::of(t);
  const auto count = [&](int i) { return i < bytes.num_steps ? bytes.steps[i].count : 1; };
  const auto stride = [&](int i) { return i < bytes.num_steps ? bytes.steps[i].stride : bytes.row_bytes; };
  for (uint64_t x = 0; x < count(2); ++x) {
    for (uint64_t y = 0; y < count(1); ++y) {
      const std::uintptr_t first = bytes.low + x * stride(2) + y * stride(1);
      check(cudaMemset2DAsync(reinterpret_cast<void*>(first), stride(0), 0, bytes.row_bytes, count(0),
                              static_cast<cudaStream_t>(stream)));
    }
  }
}

}  // namespace flashmoe::cuda

// SPDX-License-Identifier: MIT
#include "kernels/finish_backward/launch.h"

#include "kernels/finish_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET {
namespace {

gpu::LaunchShape shape_of(const BackwardParams& params, void* stream) {
  const int64_t pieces = int64_t{params.batch} * params.q_heads * (params.padded_rows / kDqPieceRows) *
                         (params.padded_dim / kDqPieceColumns);
  return {.kernel = "finish_backward",
          .blocks = static_cast<unsigned>(pieces),
          .threads = kThreads,
          .programmatic = true,
          .stream = stream};
}

template <class T>
void start(const BackwardParams& params, void* stream) {
  gpu::launch(params.sums_by_element ? &finish_backward<T, true> : &finish_backward<T, false>,
              shape_of(params, stream), params);
}

template <class T>
void start_sequences(const BackwardParams& params, const PaddedSequences& sequences, void* stream) {
  gpu::launch(params.sums_by_element ? &finish_sequences<T, true> : &finish_sequences<T, false>,
              shape_of(params, stream), params, sequences);
}

}  // namespace

void launch(DType dtype, const BackwardParams& params, void* stream) {
  (dtype == DType::fp16 ? start<fp16> : start<bf16>)(params, stream);
}

void launch_sequences(DType dtype, const BackwardParams& params, const PaddedSequences& sequences,
                      void* stream) {
  (dtype == DType::fp16 ? start_sequences<fp16> : start_sequences<bf16>)(params, sequences, stream);
}

}  // namespace flashmoe::kernels::finish_backward::inline FLASHMOE_TARGET

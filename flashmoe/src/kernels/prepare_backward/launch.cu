// SPDX-License-Identifier: MIT
#include "kernels/prepare_backward/launch.h"

#include "kernels/prepare_backward/clear_pairs.cuh"
#include "kernels/prepare_backward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET {
namespace {

template <class T, int kLanes>
void start(const BackwardParams& params, const PaddedSequences* sequences, void* stream) {
  const int64_t rows = int64_t{params.batch} * params.q_heads * params.padded_rows;
  const gpu::LaunchShape shape{.kernel = "prepare_backward",
                               .blocks = static_cast<unsigned>(rows / kDqPieceRows),
                               .threads = kThreads,
                               .stream = stream};
  if (sequences != nullptr) return gpu::launch(&prepare_sequences<T, kLanes>, shape, params, *sequences);
  gpu::launch(&prepare_backward<T, kLanes>, shape, params);
}

template <class T>
void start(const BackwardParams& params, const PaddedSequences* sequences, void* stream) {
  if (params.padded_dim == 64) return start<T, 64 / kColumns>(params, sequences, stream);
  if (params.padded_dim == 128) return start<T, 128 / kColumns>(params, sequences, stream);
  start<T, 256 / kColumns>(params, sequences, stream);
}

}  // namespace

void launch(DType dtype, const BackwardParams& params, void* stream) {
  (dtype == DType::fp16 ? start<fp16> : start<bf16>)(params, nullptr, stream);
}

void launch_sequences(DType dtype, const BackwardParams& params, const PaddedSequences& sequences,
                      void* stream) {
  (dtype == DType::fp16 ? start<fp16> : start<bf16>)(params, &sequences, stream);
}

void launch_clear(const BackwardParams& params, const PairSums& dpairs, void* stream) {
  const PairParts parts(dpairs, params);
  gpu::launch(&clear_pairs,
              {.kernel = "clear_pairs",
               .blocks = static_cast<unsigned>(parts.batch * parts.heads * parts.row_blocks()),
               .threads = kClearThreads,
               .stream = stream},
              params, dpairs);
}

}  // namespace flashmoe::kernels::prepare_backward::inline FLASHMOE_TARGET

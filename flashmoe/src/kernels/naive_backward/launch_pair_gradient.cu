// SPDX-License-Identifier: MIT
#include "kernels/naive_backward/launch.h"
#include "kernels/naive_backward/pairs.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET {
namespace {

template <class S>
void start_spec(const BackwardParams& p, const typename S::Scores& scores, const PairSums& to, void* stream) {
  const auto tiles = [](int rows) { return (rows + kTile - 1) / kTile; };
  const int64_t blocks =
      int64_t{PairSums::parts(to.batch_stride, p.batch)} * PairSums::parts(to.head_stride, p.q_heads) *
      PairSums::parts(to.row_stride, tiles(p.q_rows)) * PairSums::parts(to.key_stride, tiles(p.kv_rows));
  gpu::launch(&naive_dpairs<S>,
              {.kernel = "naive_dpairs",
               .blocks = static_cast<unsigned>(blocks),
               .threads = kThreads,
               .smem_bytes = sizeof(SmemOf<S>),
               .stream = stream},
              p, scores, to);
}

template <class T>
void start_pair_gradient(const BackwardParams& p, const PairScoreParams& scores, const PairDropout& dropout,
                         const PairSums& to, void* stream) {
  start_spec<General<Spec<T, kSlice>>>(p, {scores, dropout}, to, stream);
}

}  // namespace

void launch_pair_gradient(DType dtype, const BackwardParams& params, const PairScoreParams& scores,
                          const PairDropout& dropout, const PairSums& sums, void* stream) {
  switch (dtype) {
    case DType::fp32:
      return start_pair_gradient<float>(params, scores, dropout, sums, stream);
    case DType::fp16:
      return start_pair_gradient<fp16>(params, scores, dropout, sums, stream);
    case DType::bf16:
      return start_pair_gradient<bf16>(params, scores, dropout, sums, stream);
  }
}

}  // namespace flashmoe::kernels::naive_backward::inline FLASHMOE_TARGET

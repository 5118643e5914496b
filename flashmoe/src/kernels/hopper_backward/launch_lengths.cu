// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/launch.h"

#include "kernels/hopper_backward/start.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void launch_lengths_fp16(const BackwardParams& params, const SequenceTiles& sequences,
                         const PaddedSequences& padded, const Places& places, int tuning, void* stream) {
  start_with_lengths<fp16>(params, sequences, padded, places, tuning, stream);
}

void launch_lengths(DType dtype, const BackwardParams& params, const SequenceTiles& sequences,
                    const PaddedSequences& padded, const Places& places, int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_lengths_fp16 : launch_lengths_bf16)(params, sequences, padded, places,
                                                                     tuning, stream);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

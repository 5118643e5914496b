// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_lengths_bf16(const ForwardParams& params, const SequenceTiles& sequences, const Places& places,
                         int tuning, unsigned blocks, void* stream) {
  start_with_lengths<bf16>(params, sequences, places, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_runs_bf16(const ForwardParams& params, const Runs& runs, int tuning, unsigned blocks,
                      void* stream) {
  start_with_runs<bf16>(params, runs, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

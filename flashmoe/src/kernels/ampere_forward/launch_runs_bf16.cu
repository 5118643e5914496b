// SPDX-License-Identifier: MIT
#include "kernels/ampere_forward/start.cuh"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

void launch_runs_bf16(const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream) {
  start_any_runs<bf16>(params, runs, blocks, stream);
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

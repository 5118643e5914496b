// SPDX-License-Identifier: MIT
#include "kernels/ampere_backward/start.cuh"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

void launch_runs_bf16(const BackwardParams& params, int tuning, void* stream) {
  start_any<bf16, Form::runs>(params, tuning, stream);
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

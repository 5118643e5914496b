// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/start.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void launch_rows_bf16(const BackwardParams& params, int tuning, void* stream) {
  start_any<bf16, Visible::rows>(params, tuning, stream);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

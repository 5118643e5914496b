// SPDX-License-Identifier: MIT
#include "kernels/hopper_backward/launch.h"

#include "kernels/hopper_backward/start.cuh"

namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET {

void launch_rows_fp16(const BackwardParams& params, int tuning, void* stream) {
  start_any<fp16, Visible::rows>(params, tuning, stream);
}

void launch_rows(DType dtype, const BackwardParams& params, int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_rows_fp16 : launch_rows_bf16)(params, tuning, stream);
}

}  // namespace flashmoe::kernels::hopper_backward::inline FLASHMOE_TARGET

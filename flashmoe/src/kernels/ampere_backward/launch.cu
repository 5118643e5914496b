// SPDX-License-Identifier: MIT
#include "kernels/ampere_backward/launch.h"

#include "kernels/ampere_backward/start.cuh"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

void launch_fp16(const BackwardParams& params, int tuning, void* stream) {
  start_any<fp16, Form::from_first>(params, tuning, stream);
}

void launch(DType dtype, const BackwardParams& params, int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_fp16 : launch_bf16)(params, tuning, stream);
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/ampere_backward/launch.h"

#include "kernels/ampere_backward/start.cuh"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

void launch_general_fp16(const GeneralParams& params, int tuning, void* stream) {
  start_general<fp16, Form::general>(params, tuning, stream);
}

void launch_general(DType dtype, const GeneralParams& params, int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_general_fp16 : launch_general_bf16)(params, tuning, stream);
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/ampere_backward/launch.h"

#include "kernels/ampere_backward/start.cuh"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

void launch_pairs_fp16(const GeneralPairParams& params, int tuning, void* stream) {
  start_general<fp16, Form::pairs>(params, tuning, stream);
}

void launch_pairs(DType dtype, const GeneralPairParams& params, int tuning, void* stream) {
  (dtype == DType::fp16 ? launch_pairs_fp16 : launch_pairs_bf16)(params, tuning, stream);
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/ampere_forward/launch.h"

#include "kernels/ampere_forward/start.cuh"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

void launch_general_fp16(const ForwardParams& params, const GeneralParams& general, unsigned blocks,
                         void* stream) {
  start_any_general<fp16>(params, general, blocks, stream);
}

void launch_general(DType dtype, const ForwardParams& params, const GeneralParams& general, unsigned blocks,
                    void* stream) {
  (dtype == DType::fp16 ? launch_general_fp16 : launch_general_bf16)(params, general, blocks, stream);
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/ampere_backward/start.cuh"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

void launch_general_bf16(const GeneralParams& params, int tuning, void* stream) {
  start_general<bf16, Form::general>(params, tuning, stream);
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

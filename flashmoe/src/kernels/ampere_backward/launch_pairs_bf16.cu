// SPDX-License-Identifier: MIT
#include "kernels/ampere_backward/start.cuh"

namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET {

void launch_pairs_bf16(const GeneralPairParams& params, int tuning, void* stream) {
  start_general<bf16, Form::pairs>(params, tuning, stream);
}

}  // namespace flashmoe::kernels::ampere_backward::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/ampere_forward/start.cuh"

namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET {

void launch_pairs_bf16(const ForwardParams& params, const GeneralParams& general, const GeneralPairs& pairs,
                       unsigned blocks, void* stream) {
  start_any_pairs<bf16>(params, general, pairs, blocks, stream);
}

}  // namespace flashmoe::kernels::ampere_forward::inline FLASHMOE_TARGET

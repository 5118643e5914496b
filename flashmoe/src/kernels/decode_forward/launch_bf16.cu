// SPDX-License-Identifier: MIT
#include "kernels/decode_forward/start.cuh"
#include "numeric/half.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

void launch_bf16(const ForwardParams& params, int tuning, bool programmatic, void* stream) {
  start_any<bf16>(params, tuning, programmatic, stream, AllTunings());
}

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET

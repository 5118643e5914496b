// SPDX-License-Identifier: MIT
#include "kernels/decode_forward/launch.h"

#include "kernels/decode_forward/start.cuh"
#include "numeric/half.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

void launch(DType dtype, const ForwardParams& params, int tuning, bool programmatic, void* stream) {
  if (dtype == DType::bf16) return launch_bf16(params, tuning, programmatic, stream);
  start_any<fp16>(params, tuning, programmatic, stream, AllTunings());
}

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET

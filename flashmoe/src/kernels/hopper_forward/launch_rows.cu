// SPDX-License-Identifier: MIT
#include "kernels/hopper_forward/launch.h"

#include "kernels/hopper_forward/start.cuh"

namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET {

void launch_rows_fp16(const ForwardParams& params, const RowTable& table, int tuning, unsigned blocks,
                      void* stream) {
  start_with_rows<fp16>(params, table, tuning, blocks, stream);
}

void launch_rows(DType dtype, const ForwardParams& params, const RowTable& table, int tuning, unsigned blocks,
                 void* stream) {
  (dtype == DType::fp16 ? launch_rows_fp16 : launch_rows_bf16)(params, table, tuning, blocks, stream);
}

}  // namespace flashmoe::kernels::hopper_forward::inline FLASHMOE_TARGET

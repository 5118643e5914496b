// SPDX-License-Identifier: MIT
#include "kernels/prepare_runs/launch.h"

#include "kernels/prepare_runs/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET {

void launch(const Params& params, void* stream) {
  const auto row_blocks = static_cast<unsigned>((params.padded_rows + kRowThreads - 1) / kRowThreads);
  gpu::launch(&find_rows,
              {.kernel = "find_rows",
               .blocks = row_blocks * static_cast<unsigned>(params.entries),
               .threads = kRowThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              params);
  if (params.keys == nullptr) return;
  const auto blocks = static_cast<unsigned>((params.padded_keys + kKeyThreads - 1) / kKeyThreads);
  gpu::launch(&find_keys,
              {.kernel = "find_keys",
               .blocks = blocks * static_cast<unsigned>(params.entries),
               .threads = kKeyThreads,
               .stream = stream},
              params);
}

}  // namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET

// SPDX-License-Identifier: MIT
#include "kernels/prepare_lengths/launch.h"

#include "kernels/prepare_lengths/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::prepare_lengths::inline FLASHMOE_TARGET {

void launch(const Params& params, void* stream) {
  const Parts parts = parts_of(params);
  gpu::launch(&prepare_lengths,
              {.kernel = "prepare_lengths",
               .blocks = parts.lists + parts.q + parts.k,
               .threads = kThreads,
               .stream = stream},
              params);
}

}  // namespace flashmoe::kernels::prepare_lengths::inline FLASHMOE_TARGET

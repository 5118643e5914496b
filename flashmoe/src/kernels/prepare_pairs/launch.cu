// SPDX-License-Identifier: MIT
#include "kernels/prepare_pairs/launch.h"

#include "kernels/prepare_pairs/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::prepare_pairs::inline FLASHMOE_TARGET {

void launch(const Params& params, void* stream) {
  const auto strips = [&](int lines) {
    return static_cast<unsigned>(params.entries) * static_cast<unsigned>(lines / kTableTile);
  };
  const bool bytes = params.pairs.type == PairType::boolean;
  gpu::launch(params.by_words ? (bytes ? &pair_rows<uint8_t, true> : &pair_rows<uint16_t, true>)
                              : (bytes ? &pair_rows<uint8_t, false> : &pair_rows<uint16_t, false>),
              {.kernel = "pair_rows",
               .blocks = strips(params.padded_rows),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              params);
  if (params.by_key == nullptr) return;
  gpu::launch(&pair_keys,
              {.kernel = "pair_keys",
               .blocks = strips(params.padded_keys),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              params);
}

}  // namespace flashmoe::kernels::prepare_pairs::inline FLASHMOE_TARGET

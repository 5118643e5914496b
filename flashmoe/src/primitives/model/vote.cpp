// SPDX-License-Identifier: MIT
#include "primitives/model/vote.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {

uint32_t ballot(bool predicate, const model::Where& where) {
  uint32_t mine = predicate ? 1 : 0;
  model::meet(
      "ballot",
      [](void* const* lanes) {
        uint32_t all = 0;
        for (int l = 0; l < 32; ++l) all |= *static_cast<uint32_t*>(lanes[l]) << l;
        for (int l = 0; l < 32; ++l) *static_cast<uint32_t*>(lanes[l]) = all;
      },
      &mine, where);
  return mine;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

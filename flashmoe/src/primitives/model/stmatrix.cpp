// SPDX-License-Identifier: MIT
#include "primitives/model/stmatrix.h"

#include <cstring>

#include "primitives/model/order.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

struct StoreRequest {
  const uint32_t* fragment;
  std::byte* row;
};

void store(void* const* lanes) {
  for (int l = 0; l < 32; ++l) {
    model::order_write(static_cast<const StoreRequest*>(lanes[l])->row, 16, true, model::current->last);
  }
  for (int l = 0; l < 32; ++l) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::byte* row = static_cast<const StoreRequest*>(lanes[8 * matrix + l / 4])->row;
      std::memcpy(row + 4 * (l % 4), &static_cast<const StoreRequest*>(lanes[l])->fragment[matrix], 4);
    }
  }
}

}  // namespace

void stmatrix_x4(uint32_t row, const uint32_t (&fragment)[4], const model::Where& where) {
  StoreRequest mine{fragment, model::shared_place(row, 16, "stmatrix_x4", where)};
  model::meet("stmatrix_x4", &store, &mine, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

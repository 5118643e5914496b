// SPDX-License-Identifier: MIT
#include "primitives/model/ldmatrix.h"

#include <cstring>

#include "primitives/model/order.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

struct LoadRequest {
  uint32_t* fragment;
  const std::byte* row;
};

uint32_t element(void* const* lanes, int matrix, int row, int column) {
  uint16_t bits;
  std::memcpy(&bits, static_cast<const LoadRequest*>(lanes[8 * matrix + row])->row + 2 * column, sizeof bits);
  return bits;
}

template <bool kTrans>
void load(void* const* lanes) {
  for (int l = 0; l < 32; ++l) {
    model::order_read(static_cast<const LoadRequest*>(lanes[l])->row, 16, true, model::current->last);
  }
  for (int l = 0; l < 32; ++l) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      const int i = l / 4;
      const int j = 2 * (l % 4);
      const uint32_t low = kTrans ? element(lanes, matrix, j, i) : element(lanes, matrix, i, j);
      const uint32_t high = kTrans ? element(lanes, matrix, j + 1, i) : element(lanes, matrix, i, j + 1);
      static_cast<LoadRequest*>(lanes[l])->fragment[matrix] = low | high << 16;
    }
  }
}

}  // namespace

void ldmatrix_x4(uint32_t (&fragment)[4], uint32_t row, const model::Where& where) {
  LoadRequest mine{fragment, model::shared_place(row, 16, "ldmatrix_x4", where)};
  model::meet("ldmatrix_x4", &load<false>, &mine, where);
}

void ldmatrix_x4_trans(uint32_t (&fragment)[4], uint32_t row, const model::Where& where) {
  LoadRequest mine{fragment, model::shared_place(row, 16, "ldmatrix_x4_trans", where)};
  model::meet("ldmatrix_x4_trans", &load<true>, &mine, where);
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

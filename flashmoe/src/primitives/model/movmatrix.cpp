// SPDX-License-Identifier: MIT
#include "primitives/model/movmatrix.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

void transpose(void* const* lanes) {
  uint32_t matrix[8][8];
  for (int l = 0; l < 32; ++l) {
    const uint32_t pair = *static_cast<const uint32_t*>(lanes[l]);
    matrix[l / 4][2 * (l % 4)] = pair & 0xFFFFU;
    matrix[l / 4][2 * (l % 4) + 1] = pair >> 16;
  }
  for (int l = 0; l < 32; ++l) {
    const int row = 2 * (l % 4);
    *static_cast<uint32_t*>(lanes[l]) = matrix[row][l / 4] | matrix[row + 1][l / 4] << 16;
  }
}

}  // namespace

uint32_t movmatrix_trans(uint32_t pair, const model::Where& where) {
  model::meet("movmatrix_trans", &transpose, &pair, where);
  return pair;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET

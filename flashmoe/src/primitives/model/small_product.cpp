// SPDX-License-Identifier: MIT
#include "primitives/model/small_product.h"

#include <cstring>

namespace flashmoe::model {

void add_product(float* sums, const float (*a)[kProductDepth], const float* b, std::size_t rows,
                 std::size_t width) {
  using Four = float __attribute__((vector_size(16)));  // explicit, since g++ does not vectorise this loop
  for (std::size_t row = 0; row < rows; row += 4) {
    for (std::size_t n = 0; n < width; n += 8) {
      Four block[4][2];
      for (std::size_t r = 0; r < 4; ++r)
        std::memcpy(block[r], &sums[(row + r) * width + n], sizeof block[r]);
      for (std::size_t k = 0; k < kProductDepth; ++k) {
        Four along_n[2];
        std::memcpy(along_n, &b[k * width + n], sizeof along_n);
        for (std::size_t r = 0; r < 4; ++r) {
          for (int i = 0; i < 2; ++i) block[r][i] += a[row + r][k] * along_n[i];
        }
      }
      for (std::size_t r = 0; r < 4; ++r)
        std::memcpy(&sums[(row + r) * width + n], block[r], sizeof block[r]);
    }
  }
}

}  // namespace flashmoe::model

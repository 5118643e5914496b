// SPDX-License-Identifier: MIT
// Arithmetic of one matrix instruction on the model.
#pragma once

#include <cstddef>

namespace flashmoe::model {

inline constexpr int kProductDepth = 16;

// sums[rows][width] += a[rows][16] b[16][width], added in the order of k; rows % 4 == 0, width % 8 == 0.
void add_product(float* sums, const float (*a)[kProductDepth], const float* b, std::size_t rows,
                 std::size_t width);

}  // namespace flashmoe::model

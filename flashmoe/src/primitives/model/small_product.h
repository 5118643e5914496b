// SPDX-License-Identifier: MIT
// The arithmetic of a matrix instruction.
#pragma once

#include <cstddef>

namespace flashmoe::model {

inline constexpr int kProductDepth = 16;

// sums[rows][width] += a[rows][16] b[16][width], in the order of k; rows a multiple of 4, width of 8.
void add_product(float* sums, const float (*a)[kProductDepth], const float* b, std::size_t rows,
                 std::size_t width);

}  // namespace flashmoe::model

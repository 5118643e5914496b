// SPDX-License-Identifier: MIT
// Where the gradient of a tensor with a value for every query row and key goes, and which parts it has.
#pragma once

#include <cstdint>

#include "primitives/target.h"

namespace flashmoe::kernels {

// A stride of 0: elements are sums over that dimension.
struct PairSums {
  float* data;
  int64_t batch_stride, head_stride, row_stride, key_stride;  // elements

  // What a block has: one of something, or all where elements are sums over it.
  struct Part {
    int begin, end;
  };
  static FLASHMOE_HD Part part(int64_t stride, int count, int index) {
    return stride == 0 ? Part{0, count} : Part{index, index + 1};
  }
  // Parts that there are.
  static FLASHMOE_HD int parts(int64_t stride, int count) { return stride == 0 ? 1 : count; }
};

}  // namespace flashmoe::kernels

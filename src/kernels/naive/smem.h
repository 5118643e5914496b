// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/naive/spec.h"

namespace flashmoe::kernels::naive {

// One column more than needed keeps threads that walk down a column in different banks.
struct Smem {
  float q[kTile][kSlice + 1];
  float kv[kTile][kSlice + 1];
  float p[kTile][kTile + 1];
};

}  // namespace flashmoe::kernels::naive

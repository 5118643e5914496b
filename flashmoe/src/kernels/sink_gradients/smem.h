// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/sink_gradients/params.h"

namespace flashmoe::kernels::sink_gradients {

struct Smem {
  float sums[kThreads / 32];  // of the warps
};

}  // namespace flashmoe::kernels::sink_gradients

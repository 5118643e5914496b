// SPDX-License-Identifier: MIT
#include <utility>

#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/smem.h"
#include "numeric/half.h"

namespace flashmoe::kernels::hopper_forward {
namespace {

template <int... kTuning>
int find(int tuning, std::integer_sequence<int, kTuning...>) {
  static_assert(
      ((kTunings[kTuning].blocks_per_sm * (sizeof(Smem<Spec<fp16, kTuning, Visible::all>>) + 1024) <=
        228 * 1024) &&
       ...),
      "sm_90 has 228 KB, and keeps 1 KB of it for each block");
  constexpr int kBytes[] = {sizeof(Smem<Spec<fp16, kTuning, Visible::all>>)...};
  return kBytes[tuning];
}

}  // namespace

int smem_bytes(int tuning) { return find(tuning, std::make_integer_sequence<int, kNumTunings>()); }

}  // namespace flashmoe::kernels::hopper_forward

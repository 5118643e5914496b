// SPDX-License-Identifier: MIT
#include <utility>

#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/smem.h"
#include "numeric/half.h"

namespace flashmoe::kernels::hopper_forward {
namespace {

template <int... kTuning>
int find(int tuning, std::integer_sequence<int, kTuning...>) {
  static_assert(((sizeof(Smem<Spec<fp16, kTuning>>) <= 227 * 1024) && ...), "sm_90 gives a block 227 KB");
  constexpr int kBytes[] = {sizeof(Smem<Spec<fp16, kTuning>>)...};
  return kBytes[tuning];
}

}  // namespace

int smem_bytes(int tuning) { return find(tuning, std::make_integer_sequence<int, kNumTunings>()); }

}  // namespace flashmoe::kernels::hopper_forward

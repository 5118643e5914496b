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

template <int kTuning>
constexpr int with_bias() {
  if constexpr (takes_bias(kTunings[kTuning])) {
    using Form = Smem<Spec<fp16, kTuning, Visible::tiles, Change::bias>>;
    static_assert(kTunings[kTuning].blocks_per_sm * (sizeof(Form) + 1024) <= 228 * 1024);
    return sizeof(Form);
  }
  return 0;
}

template <int... kTuning>
int find_with_bias(int tuning, std::integer_sequence<int, kTuning...>) {
  constexpr int kBytes[] = {with_bias<kTuning>()...};
  return kBytes[tuning];
}

}  // namespace

int smem_bytes_with_bias(int tuning) {
  return find_with_bias(tuning, std::make_integer_sequence<int, kNumTunings>());
}
int smem_bytes(int tuning) { return find(tuning, std::make_integer_sequence<int, kNumTunings>()); }

}  // namespace flashmoe::kernels::hopper_forward

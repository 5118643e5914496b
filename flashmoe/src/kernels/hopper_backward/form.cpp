// SPDX-License-Identifier: MIT
#include <utility>

#include "kernels/hopper_backward/launch.h"
#include "kernels/hopper_backward/smem.h"
#include "numeric/half.h"

namespace flashmoe::kernels::hopper_backward {
namespace {

template <int... kTuning>
int find_smem_bytes(int tuning, std::integer_sequence<int, kTuning...>) {
  static_assert(((sizeof(Smem<Spec<fp16, kTuning, Visible::from_first>>) <= 227 * 1024) && ...),
                "what sm_90 gives a block");
  constexpr int kBytes[] = {sizeof(Smem<Spec<fp16, kTuning, Visible::from_first>>)...};
  return kBytes[tuning];
}

template <int kTuning>
constexpr int with_bias() {
  if constexpr (takes_bias(kTunings[kTuning]))
    return sizeof(Smem<Spec<fp16, kTuning, Visible::tiles, Change::bias>>);
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
int smem_bytes(int tuning) { return find_smem_bytes(tuning, std::make_integer_sequence<int, kNumTunings>()); }

}  // namespace flashmoe::kernels::hopper_backward

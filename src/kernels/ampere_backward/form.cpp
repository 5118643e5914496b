// SPDX-License-Identifier: MIT
#include <utility>

#include "kernels/ampere_backward/launch.h"
#include "kernels/ampere_backward/smem.h"
#include "numeric/half.h"

namespace flashmoe::kernels::ampere_backward {
namespace {

template <int... kTuning>
int find_smem_bytes(int tuning, std::integer_sequence<int, kTuning...>) {
  static_assert(((sizeof(Smem<Spec<fp16, kTuning, false>>) <= 227 * 1024) && ...),
                "what sm_90 gives a block");
  constexpr int kBytes[] = {sizeof(Smem<Spec<fp16, kTuning, false>>)...};
  return kBytes[tuning];
}

}  // namespace

int smem_bytes(int tuning) { return find_smem_bytes(tuning, std::make_integer_sequence<int, kNumTunings>()); }

}  // namespace flashmoe::kernels::ampere_backward

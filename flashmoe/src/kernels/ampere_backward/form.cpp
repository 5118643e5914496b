// SPDX-License-Identifier: MIT
#include <utility>

#include "kernels/ampere_backward/launch.h"
#include "kernels/ampere_backward/smem.h"
#include "numeric/half.h"

namespace flashmoe::kernels::ampere_backward {
namespace {

template <Form kForm, int... kTuning>
int find_smem_bytes(int tuning, std::integer_sequence<int, kTuning...>) {
  static_assert(((sizeof(Smem<Spec<fp16, kTuning, kForm>>) <= 227 * 1024) && ...),
                "what sm_90 gives a block");
  static_assert(((kForm != Form::general || !is_general(kTuning) ||
                  sizeof(Smem<Spec<fp16, kTuning, kForm>>) <= 99 * 1024) &&
                 ...),
                "what sm_89 gives a block");
  constexpr int kBytes[] = {sizeof(Smem<Spec<fp16, kTuning, kForm>>)...};
  return kBytes[tuning];
}

}  // namespace

int smem_bytes(int tuning) {
  return find_smem_bytes<Form::from_first>(tuning, std::make_integer_sequence<int, kNumTunings>());
}
int smem_bytes_general(int tuning) {
  return find_smem_bytes<Form::general>(tuning, std::make_integer_sequence<int, kNumTunings>());
}

}  // namespace flashmoe::kernels::ampere_backward

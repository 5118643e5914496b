// SPDX-License-Identifier: MIT
// Which forms of ampere_backward its mutants are made of.
#pragma once

#include "kernels/ampere_backward/spec.h"

namespace flashmoe::test {

// The first row of the table with this head_dim and this many stages.
constexpr int ampere_backward_tuning(int head_dim, int stages) {
  const auto& table = kernels::ampere_backward::kTunings;
  int index = 0;
  while (table[index].head_dim != head_dim || table[index].stages != stages) ++index;
  return index;
}

}  // namespace flashmoe::test

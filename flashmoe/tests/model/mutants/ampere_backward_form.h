// SPDX-License-Identifier: MIT
// Which forms of ampere_backward its mutants are made of.
#pragma once

#include "kernels/ampere_backward/spec.h"

namespace flashmoe::test {

// The first row of the table with this head_dim and this many stages; or the one of the general form.
constexpr int ampere_backward_tuning(int head_dim, int stages, bool general = false) {
  const auto& table = kernels::ampere_backward::kTunings;
  int index = 0;
  while (table[index].head_dim != head_dim || table[index].stages != stages ||
         (general && !kernels::ampere_backward::is_general(index)))
    ++index;
  return index;
}

}  // namespace flashmoe::test

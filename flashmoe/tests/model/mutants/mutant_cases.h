// SPDX-License-Identifier: MIT
// What the mutants of a kernel are run with.
#pragma once

#include <string>
#include <vector>

#include "support/problem.h"

namespace flashmoe::test {

struct MutantCase {
  Shape shape;
  int num_splits = 1;
  int tuning = -1;             // of decode_forward
  bool deterministic = false;  // gradients
};

// Short on purpose, but: more tiles than stages, tails, a row block that sees nothing, groups, splits, odd
// head_dims.
std::vector<MutantCase> cases_for(const std::string& kernel);

}  // namespace flashmoe::test

// SPDX-License-Identifier: MIT
// Kernels with one mistake each, made from the real sources when the tests are configured.
#pragma once

#include <string>
#include <vector>

#include "kernels/forward_params.h"

namespace flashmoe::test {

struct Mutant {
  std::string kernel;   // which it is a copy of
  std::string mistake;  // "none" for an exact copy
  // Runs it on the model; `tuning` is the plan's.
  void (*run)(const kernels::ForwardParams& params, bool aligned, int tuning, unsigned blocks);
};

std::vector<Mutant>& mutants();

struct Registration {
  Registration(const char* kernel, const char* mistake, decltype(Mutant::run) run);
};

}  // namespace flashmoe::test

// SPDX-License-Identifier: MIT
// What catches mutants: cases of a form, each run twice on the model, whose result the oracle judges.
#pragma once

#include <string>
#include <vector>

#include "model/mutants/mutant_cases.h"
#include "model/mutants/registry.h"
#include "primitives/model/settings.h"

namespace flashmoe::test {

struct Run {
  std::string name;  // "case 3, early"
  MutantCase what;
  model::Settings settings;
};

std::vector<Run> runs_of(const std::string& form);

// What is wrong with a run, by the model or by the oracle, or "".
std::string caught(const Form& form, const Run& run);

}  // namespace flashmoe::test

// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "model/mutants/registry.h"

namespace flashmoe::test {

// What is wrong with the first run of a mutant's cases that goes wrong, by the model or by the oracle, or "".
std::string caught(const Mutant& mutant);

}  // namespace flashmoe::test

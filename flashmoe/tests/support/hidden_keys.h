// SPDX-License-Identifier: MIT
// Keys that no query row sees: results must not depend on their contents.
#pragma once

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"

namespace flashmoe::test {

// Writes `value` into every element of those rows of K and V. Ignores mask tensors.
void fill_hidden_keys(const ForwardProblem& problem, const ForwardArgs& args, float value);

}  // namespace flashmoe::test

// SPDX-License-Identifier: MIT
// A random problem and a way to compute it, from a number: the same on the model and on a GPU.
#pragma once

#include <string>

#include "dispatch/plan.h"
#include "support/problem.h"

namespace flashmoe::test {

struct RandomCase {
  Shape shape;
  dispatch::ForwardChoice choice;
};

RandomCase random_case(uint64_t seed);

std::string describe(const RandomCase& c);

}  // namespace flashmoe::test

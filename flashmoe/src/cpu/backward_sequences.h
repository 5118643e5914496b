// SPDX-License-Identifier: MIT
// Gradients of calls with lengths on the CPU. Arguments have been checked.
#pragma once

#include <string>

#include "cpu/sequences_plan.h"
#include "flashmoe/attention.h"
#include "problem/sequences.h"

namespace flashmoe::cpu {

SequencesPlan plan_backward(const Sequences& sequences, const Execution& execution);
// Computes them. The workspace is as large as the plan says.
void backward(const SequencesPlan& plan, const Sequences& sequences, const BackwardArgs& args,
              Workspace workspace);
std::string explain_backward(const Sequences& sequences, const Execution& execution);

}  // namespace flashmoe::cpu

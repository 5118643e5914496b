// SPDX-License-Identifier: MIT
// Calls with lengths on the CPU. Arguments have been checked.
#pragma once

#include <string>

#include "cpu/sequences_plan.h"
#include "flashmoe/attention.h"
#include "problem/sequences.h"

namespace flashmoe::cpu {

SequencesPlan plan_forward(const Sequences& sequences, const Execution& execution);
// Computes it. The workspace is as large as the plan says.
void forward(const SequencesPlan& plan, const Sequences& sequences, const ForwardArgs& args,
             Workspace workspace);
std::string explain_forward(const Sequences& sequences, const Execution& execution);

}  // namespace flashmoe::cpu

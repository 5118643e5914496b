// SPDX-License-Identifier: MIT
#include "cuda/forward.h"

#include "device/probe.h"
#include "dispatch/plan.h"
#include "dispatch/run.h"

namespace flashmoe::cuda {

std::size_t forward_workspace_bytes(const ForwardProblem& problem) {
  return dispatch::forward_workspace_bytes(problem, device::probe());
}

dispatch::ForwardPlan plan_forward(const ForwardProblem& problem, const ForwardArgs& args) {
  dispatch::ForwardChoice choice{.programmatic = args.execution.programmatic};
  // The others begin by loading keys.
  if (problem.kv_rows == 0) choice.kernel = dispatch::ForwardKernel::naive;
  return dispatch::plan_forward(problem, dispatch::addressing_of(args), device::probe(), choice);
}

void forward(const dispatch::ForwardPlan& plan, const ForwardProblem& problem, const ForwardArgs& args,
             Workspace workspace) {
  dispatch::run_forward(plan, problem, args, workspace);
}

std::string explain_forward(const ForwardProblem& problem, const ForwardArgs& args) {
  return dispatch::explain(plan_forward(problem, args), problem, device::probe());
}

bool in_this_build() { return true; }

}  // namespace flashmoe::cuda

// SPDX-License-Identifier: MIT
#include "cuda/forward.h"

#include "device/probe.h"
#include "dispatch/plan.h"
#include "dispatch/run.h"

namespace flashmoe::cuda {

std::size_t forward_workspace_bytes(const ForwardProblem& problem) {
  return dispatch::forward_workspace_bytes(problem, device::probe());
}

void forward(const ForwardProblem& problem, const ForwardArgs& args, Workspace workspace) {
  const auto plan = dispatch::plan_forward(problem, dispatch::rows_are_aligned(args), device::probe());
  dispatch::run_forward(plan, problem, args, workspace);
}

std::string explain_forward(const ForwardProblem& problem, const ForwardArgs& args) {
  const device::Spec spec = device::probe();
  return dispatch::explain(dispatch::plan_forward(problem, dispatch::rows_are_aligned(args), spec), problem,
                           spec);
}

bool in_this_build() { return true; }

}  // namespace flashmoe::cuda

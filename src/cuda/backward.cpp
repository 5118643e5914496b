// SPDX-License-Identifier: MIT
#include "cuda/backward.h"

#include "device/probe.h"
#include "dispatch/run_backward.h"

namespace flashmoe::cuda {

std::size_t backward_workspace_bytes(const ForwardProblem& problem, bool deterministic) {
  return dispatch::backward_workspace_bytes(problem, device::probe(), deterministic);
}

dispatch::BackwardPlan plan_backward(const ForwardProblem& problem, const BackwardArgs& args) {
  return dispatch::plan_backward(problem, dispatch::addressing_of(args), device::probe(), args.deterministic);
}

void backward(const dispatch::BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
              Workspace workspace) {
  dispatch::run_backward(plan, problem, args, workspace);
}

std::string explain_backward(const ForwardProblem& problem, const BackwardArgs& args) {
  const dispatch::BackwardPlan plan = plan_backward(problem, args);
  return std::string("cuda: ") + name_of(plan.kernel) + ", because: " + plan.reason +
         "\n  tiles: " + std::to_string(plan.tile_q) + " rows x " + std::to_string(plan.tile_kv) +
         " keys\n  workspace: " + std::to_string(plan.workspace_bytes) + " bytes\n";
}

}  // namespace flashmoe::cuda

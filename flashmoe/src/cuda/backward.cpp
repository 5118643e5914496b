// SPDX-License-Identifier: MIT
#include "cuda/backward.h"

#include "device/probe.h"
#include "dispatch/explain_backward.h"
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

void differentiate_sinks(const ForwardProblem& problem, const BackwardArgs& args) {
  dispatch::differentiate_sinks(problem, args);
}

std::string explain_backward(const ForwardProblem& problem, const BackwardArgs& args) {
  return dispatch::explain(plan_backward(problem, args), problem, device::probe());
}

}  // namespace flashmoe::cuda

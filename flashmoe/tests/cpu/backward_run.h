// SPDX-License-Identifier: MIT
// Runs the CPU's backward on a test problem with any kernel and any number of threads.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "cpu/backward.h"
#include "cpu/backward_kernels.h"
#include "cpu/sink_gradients.h"
#include "support/backward_call.h"

namespace flashmoe::test {

// In a workspace of exactly the size that the plan asks for, full of NaN patterns.
inline void run_backward(const BackwardProblem& problem, const cpu::BackwardPlan& plan) {
  const std::size_t bytes = plan.workspace_bytes + kWorkspaceAlignment;
  const std::unique_ptr<std::byte[]> space(new std::byte[bytes]);
  std::memset(space.get(), 0xFF, bytes);
  Workspace workspace = Workspace::in(space.get(), bytes);
  workspace.bytes = plan.workspace_bytes;
  cpu::backward(plan, problem.forward.problem, arguments_of(problem), workspace);
  cpu::differentiate_sinks(problem.forward.problem, arguments_of(problem));
}

inline void run_backward(const BackwardProblem& problem, const cpu::BackwardKernel& kernel, int threads) {
  run_backward(problem, cpu::make_plan(problem.forward.problem, kernel, threads));
}

// Every kernel that takes the problem on this machine.
inline std::vector<const cpu::BackwardKernel*> kernels_for(const BackwardProblem& problem) {
  std::vector<const cpu::BackwardKernel*> kernels;
  for (const cpu::BackwardKernel* kernel : cpu::backward_kernels(problem.forward.problem))
    if (kernel != nullptr) kernels.push_back(kernel);
  return kernels;
}

inline void run_backward(const BackwardProblem& problem) {
  run_backward(problem, cpu::plan_backward(problem.forward.problem, problem.forward.args.execution));
}

}  // namespace flashmoe::test

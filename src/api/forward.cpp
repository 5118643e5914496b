// SPDX-License-Identifier: MIT
// The library's front door: checks, then the backend that owns the device.
#include "cpu/forward.h"
#include "api/check_forward.h"
#include "cuda/forward.h"
#include "flashmoe/attention.h"

namespace flashmoe {
namespace {

constexpr int64_t kLargestHeadDim = 256;  // of every backend

bool on_gpu(const Execution& execution) { return execution.device == Device::cuda; }

void check_head_dim(const ForwardProblem& problem) {
  if (problem.head_dim <= kLargestHeadDim) return;
  throw Error(ErrorCode::unsupported, "attention_forward: head_dim is " + std::to_string(problem.head_dim) +
                                          "; accepted are 1 to " + std::to_string(kLargestHeadDim));
}

std::size_t workspace_bytes(const ForwardProblem& problem, const Execution& execution) {
  check_head_dim(problem);
  return on_gpu(execution) ? cuda::forward_workspace_bytes(problem)
                           : cpu::forward_workspace_bytes(problem, execution);
}

void check_workspace(Workspace workspace, std::size_t needed) {
  if (needed == 0) return;
  if (workspace.data == nullptr || workspace.bytes < needed) {
    throw Error(ErrorCode::workspace,
                "attention_forward: workspace has " + std::to_string(workspace.data ? workspace.bytes : 0) +
                    " bytes; " + std::to_string(needed) + " are needed",
                "ask forward_workspace_bytes with the same arguments");
  }
  if (const auto past = reinterpret_cast<std::uintptr_t>(workspace.data) % kWorkspaceAlignment; past != 0) {
    throw Error(ErrorCode::workspace,
                "attention_forward: workspace starts " + std::to_string(past) + " bytes past a multiple of " +
                    std::to_string(kWorkspaceAlignment) + "; it must start at one",
                "use Workspace::in, which aligns it");
  }
}

}  // namespace

std::size_t forward_workspace_bytes(const ForwardArgs& args) {
  return workspace_bytes(check_shapes(args), args.execution);
}

void attention_forward(const ForwardArgs& args, Workspace workspace) {
  const ForwardProblem problem = check_forward(args);
  if (on_gpu(args.execution)) {
    check_head_dim(problem);
    const auto plan = cuda::plan_forward(problem, args);
    check_workspace(workspace, plan.workspace_bytes);
    cuda::forward(plan, problem, args, workspace);
    return;
  }
  check_workspace(workspace, workspace_bytes(problem, args.execution));
  cpu::forward(problem, args, workspace);
}

std::string explain_forward(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  check_head_dim(problem);
  return on_gpu(args.execution) ? cuda::explain_forward(problem, args)
                                : cpu::explain_forward(problem, args.execution);
}

std::string version() {
  return std::string(FLASHMOE_VERSION) + " (cpu: " + cpu::instruction_set() +
         (cuda::in_this_build() ? "; cuda)" : ")");
}

}  // namespace flashmoe

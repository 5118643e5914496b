// SPDX-License-Identifier: MIT
// The library's front door: checks, then the backend that owns the device.
#include "cpu/forward.h"
#include "api/check_forward.h"
#include "flashmoe/attention.h"

namespace flashmoe {
namespace {

constexpr int64_t kLargestHeadDim = 256;  // of the CPU backend

void require_cpu(const ForwardProblem& problem, const Execution& execution) {
  if (execution.device == Device::cpu) {
    if (problem.head_dim <= kLargestHeadDim) return;
    throw Error(ErrorCode::unsupported, "attention_forward: head_dim is " + std::to_string(problem.head_dim) +
                                            "; the CPU backend accepts 1 to " +
                                            std::to_string(kLargestHeadDim));
  }
  throw Error(ErrorCode::unsupported, "attention_forward: device is cuda, and this build has no CUDA backend",
              "compute on the CPU, or build where nvcc is found");
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
  const ForwardProblem problem = check_shapes(args);
  require_cpu(problem, args.execution);
  return cpu::forward_workspace_bytes(problem, args.execution);
}

void attention_forward(const ForwardArgs& args, Workspace workspace) {
  const ForwardProblem problem = check_forward(args);
  require_cpu(problem, args.execution);
  check_workspace(workspace, cpu::forward_workspace_bytes(problem, args.execution));
  cpu::forward(problem, args, workspace);
}

std::string explain_forward(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  require_cpu(problem, args.execution);
  return cpu::explain_forward(problem, args.execution);
}

std::string version() { return std::string(FLASHMOE_VERSION) + " (cpu: " + cpu::instruction_set() + ")"; }

}  // namespace flashmoe

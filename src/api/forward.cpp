// SPDX-License-Identifier: MIT
// The library's front door: checks, then the backend that owns the device.
#include "cpu/forward.h"
#include "api/check_forward.h"
#include "cuda/forward.h"
#include "flashmoe/attention.h"

namespace flashmoe {
namespace {

bool on_gpu(const Execution& execution) { return execution.device == Device::cuda; }

void check_head_dim(const ForwardProblem& problem) {
  if (problem.head_dim <= kMaxHeadDim) return;
  throw Error(ErrorCode::unsupported, "attention_forward: head_dim is " + std::to_string(problem.head_dim) +
                                          "; accepted are 1 to " + std::to_string(kMaxHeadDim));
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

// `workspace_of(bytes)` gives the workspace of a plan that needs so many.
template <class WorkspaceOf>
void run(const ForwardArgs& args, WorkspaceOf workspace_of) {
  const ForwardProblem problem = check_forward(args);
  check_head_dim(problem);
  if (on_gpu(args.execution)) {
    const auto plan = cuda::plan_forward(problem, args);
    cuda::forward(plan, problem, args, workspace_of(plan.workspace_bytes));
  } else {
    const auto plan = cpu::plan_forward(problem, args.execution);
    cpu::forward(plan, problem, args, workspace_of(plan.workspace_bytes));
  }
}

Workspace allocated(WorkspaceSource source, std::size_t bytes) {
  if (bytes == 0) return {};
  void* data = source.allocate == nullptr ? nullptr : source.allocate(source.context, bytes);
  if (data == nullptr) {
    throw Error(ErrorCode::workspace, "attention_forward: the caller has no memory for a workspace of " +
                                          std::to_string(bytes) + " bytes");
  }
  return {data, bytes};
}

}  // namespace

std::size_t forward_workspace_bytes(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  check_head_dim(problem);
  return on_gpu(args.execution) ? cuda::forward_workspace_bytes(problem)
                                : cpu::plan_forward(problem, args.execution).workspace_bytes;
}

void attention_forward(const ForwardArgs& args, Workspace workspace) {
  run(args, [&](std::size_t bytes) {
    check_workspace(workspace, bytes);
    return workspace;
  });
}

void attention_forward_with(const ForwardArgs& args, WorkspaceSource source) {
  run(args, [&](std::size_t bytes) {
    const Workspace workspace = allocated(source, bytes);
    check_workspace(workspace, bytes);
    return workspace;
  });
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

// SPDX-License-Identifier: MIT
// The library's front door: checks, then the backend that owns the device.
#include "cpu/forward.h"

#include "api/check_forward.h"
#include "api/check_tensors.h"
#include "api/empty_problem.h"
#include "api/workspace.h"
#include "cpu/cancel.h"
#include "cpu/fill_rows.h"
#include "cpu/forward_sequences.h"
#include "cuda/forward.h"
#include "flashmoe/attention.h"

namespace flashmoe {
namespace {

constexpr const char* kCall = "attention_forward";
constexpr const char* kQuery = "forward_workspace_bytes";

bool on_gpu(const Execution& execution) { return execution.device == Device::cuda; }

void check_head_dim(const ForwardProblem& problem) {
  if (problem.head_dim <= kMaxHeadDim) return;
  throw Error(ErrorCode::unsupported, "attention_forward: head_dim is " + std::to_string(problem.head_dim) +
                                          "; accepted are 1 to " + std::to_string(kMaxHeadDim));
}

// Rows without keys, in host memory.
void store_nothing_seen(const ForwardProblem& problem, const ForwardArgs& args) {
  cpu::fill_zero(args.out);
  for (int64_t b = 0; b < problem.batch; ++b)
    cpu::fill_lse(args.lse, args.q, {b, {0, problem.q_rows}}, args.scores.sinks);
}

// `workspace_of(problem, bytes)` gives the workspace of a plan that needs so many.
template <class WorkspaceOf>
void run(const ForwardArgs& args, WorkspaceOf workspace_of) {
  const ForwardProblem problem = check_forward(args);
  check_head_dim(problem);
  if (!has_rows(problem)) return;
  if (on_gpu(args.execution)) {
    const auto plan = cuda::plan_forward(problem, args);
    cuda::forward(plan, problem, args, workspace_of(problem, plan.workspace_bytes));
  } else if (args.lengths.given() || args.spans.given()) {
    const Sequences sequences(args.lengths, problem, args.spans);
    const auto plan = cpu::plan_forward(sequences, args.execution);
    cpu::forward(plan, sequences, args, workspace_of(problem, plan.workspace_bytes));
    cpu::check_not_cancelled(kCall, args.execution.cancel);
  } else if (!has_keys(problem)) {
    store_nothing_seen(problem, args);
  } else {
    const auto plan = cpu::plan_forward(problem, args.execution);
    cpu::forward(plan, problem, args, workspace_of(problem, plan.workspace_bytes));
    cpu::check_not_cancelled(kCall, args.execution.cancel);
  }
}

}  // namespace

std::size_t forward_workspace_bytes(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  check_head_dim(problem);
  if (is_empty(problem)) return 0;
  if (!on_gpu(args.execution) && (args.lengths.given() || args.spans.given())) {
    const Sequences sequences(args.lengths, problem, args.spans);
    return cpu::plan_forward(sequences, args.execution).workspace_bytes;
  }
  return on_gpu(args.execution) ? cuda::forward_workspace_bytes(problem)
                                : cpu::plan_forward(problem, args.execution).workspace_bytes;
}

void attention_forward(const ForwardArgs& args, Workspace workspace) {
  run(args, [&](const ForwardProblem& problem, std::size_t bytes) {
    const Workspace used = checked_workspace(kCall, kQuery, workspace, bytes);
    check_workspace_apart(args, problem, used);
    return used;
  });
}

void attention_forward_with(const ForwardArgs& args, WorkspaceSource source) {
  run(args, [&](const ForwardProblem&, std::size_t bytes) {
    return allocated_workspace(kCall, kQuery, source, bytes);  // new memory: it overlaps nothing
  });
}

std::string explain_forward(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  check_head_dim(problem);
  if (is_empty(problem)) return explain_empty(problem);
  if (!on_gpu(args.execution) && (args.lengths.given() || args.spans.given()))
    return cpu::explain_forward(Sequences(args.lengths, problem, args.spans), args.execution);
  return on_gpu(args.execution) ? cuda::explain_forward(problem, args)
                                : cpu::explain_forward(problem, args.execution);
}

std::string version() {
  return std::string(FLASHMOE_VERSION) + " (cpu: " + cpu::instruction_set() +
         (cuda::in_this_build() ? "; cuda)" : ")");
}

}  // namespace flashmoe

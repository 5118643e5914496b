// SPDX-License-Identifier: MIT
// The front door of the backward pass: checks, then the backend that owns the device.
#include "cpu/backward.h"

#include "api/check_backward.h"
#include "api/check_scores.h"
#include "api/empty_problem.h"
#include "api/workspace.h"
#include "cpu/backward_sequences.h"
#include "cpu/cancel.h"
#include "cpu/fill_rows.h"
#include "cpu/sink_gradients.h"
#include "cuda/backward.h"
#include "flashmoe/attention.h"

namespace flashmoe {
namespace {

constexpr const char* kCall = "attention_backward";
constexpr const char* kQuery = "backward_workspace_bytes";

bool on_gpu(const Execution& execution) { return execution.device == Device::cuda; }

void check_head_dim(const ForwardProblem& problem) {
  if (problem.head_dim <= kMaxHeadDim) return;
  throw Error(ErrorCode::unsupported, "attention_backward: head_dim is " + std::to_string(problem.head_dim) +
                                          "; accepted are 1 to " + std::to_string(kMaxHeadDim));
}

void store_zeros(const BackwardArgs& args) {
  for (const Tensor* gradient : {&args.dq, &args.dk, &args.dv}) {
    if (on_gpu(args.execution))
      cuda::fill_zero(*gradient, args.execution.stream);
    else
      cpu::fill_zero(*gradient);
  }
}

// What pairs add to.
void clear_pairs(const ForwardProblem& problem, const BackwardArgs& args) {
  if (args.dattn_mask.data == nullptr) return;
  const Tensor gradient = pair_gradient(args.dattn_mask, problem);
  if (on_gpu(args.execution))
    cuda::fill_zero(gradient, args.execution.stream);
  else
    cpu::fill_zero(gradient);
}

// `workspace_of(problem, bytes)` gives the workspace of a plan that needs so many.
template <class WorkspaceOf>
void run(const BackwardArgs& args, WorkspaceOf workspace_of) {
  const ForwardProblem problem = check_backward(args);
  check_head_dim(problem);
  if (is_empty(problem)) {
    clear_pairs(problem, args);
    store_zeros(args);
  } else if (on_gpu(args.execution)) {
    const auto plan = cuda::plan_backward(problem, args);
    cuda::backward(plan, problem, args, workspace_of(problem, plan.workspace_bytes));
  } else if (args.lengths.given() || args.spans.given()) {
    const Sequences sequences(args.lengths, problem, args.spans);
    const auto plan = cpu::plan_backward(sequences, args.execution);
    const Workspace workspace = workspace_of(problem, plan.workspace_bytes);
    clear_pairs(problem, args);
    cpu::backward(plan, sequences, args, workspace);
  } else {
    const auto plan = cpu::plan_backward(problem, args.execution, args.dattn_mask);
    const Workspace workspace = workspace_of(problem, plan.workspace_bytes);
    clear_pairs(problem, args);
    cpu::backward(plan, problem, args, workspace);
  }
  if (!on_gpu(args.execution)) cpu::check_not_cancelled(kCall, args.execution.cancel);
  // Even where no row sees a key: the gradient of the LSE is the sink's then.
  if (!on_gpu(args.execution))
    cpu::differentiate_sinks(problem, args);
  else if (is_empty(problem))
    cuda::differentiate_sinks(problem, args);
}

}  // namespace

std::size_t backward_workspace_bytes(const BackwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  check_head_dim(problem);
  if (is_empty(problem)) return 0;
  if (!on_gpu(args.execution) && (args.lengths.given() || args.spans.given())) {
    const Sequences sequences(args.lengths, problem, args.spans);
    return cpu::plan_backward(sequences, args.execution).workspace_bytes;
  }
  return on_gpu(args.execution)
             ? cuda::backward_workspace_bytes(problem, args.deterministic)
             : cpu::plan_backward(problem, args.execution, args.dattn_mask).workspace_bytes;
}

void attention_backward(const BackwardArgs& args, Workspace workspace) {
  run(args, [&](const ForwardProblem& problem, std::size_t bytes) {
    const Workspace used = checked_workspace(kCall, kQuery, workspace, bytes);
    check_workspace_apart(args, problem, used);
    return used;
  });
}

void attention_backward_with(const BackwardArgs& args, WorkspaceSource source) {
  run(args, [&](const ForwardProblem&, std::size_t bytes) {
    return allocated_workspace(kCall, kQuery, source, bytes);  // new memory: it overlaps nothing
  });
}

std::string explain_backward(const BackwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  check_head_dim(problem);
  if (is_empty(problem)) return explain_empty(problem);
  if (!on_gpu(args.execution) && (args.lengths.given() || args.spans.given()))
    return cpu::explain_backward(Sequences(args.lengths, problem, args.spans), args.execution);
  return on_gpu(args.execution) ? cuda::explain_backward(problem, args)
                                : cpu::explain_backward(problem, args.execution, args.dattn_mask);
}

}  // namespace flashmoe

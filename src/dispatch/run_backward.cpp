// SPDX-License-Identifier: MIT
// From a plan to launches. Compiled twice where there is CUDA: for the GPU, and for the model of one.
#include "dispatch/run_backward.h"

#include "dispatch/runs.h"
#include "kernels/ampere_backward/launch.h"
#include "kernels/finish_backward/launch.h"
#include "kernels/hopper_backward/launch.h"
#include "kernels/naive_backward/launch.h"
#include "kernels/prepare_backward/launch.h"

namespace flashmoe::dispatch::inline FLASHMOE_TARGET {

kernels::BackwardParams params_for(const BackwardPlan& plan, const ForwardProblem& p,
                                   const BackwardArgs& args, Workspace workspace) {
  // Where there is one of something, the stride to the next may be anything: none is kept.
  const auto view = [](const Tensor& t) {
    const auto stride = [&](std::size_t i) { return t.sizes[i] == 1 ? 0 : t.strides[i]; };
    return kernels::View{t.data, stride(0), stride(1), stride(2)};
  };
  kernels::BackwardParams params{};
  params.q = view(args.q);
  params.k = view(args.k);
  params.v = view(args.v);
  params.out = view(args.out);
  params.dout = view(args.dout);
  params.dq = view(args.dq);
  params.dk = view(args.dk);
  params.dv = view(args.dv);
  params.lse = args.lse;
  params.dlse = args.dlse;
  params.batch = static_cast<int>(p.batch);
  params.q_heads = static_cast<int>(p.q_heads);
  params.kv_heads = static_cast<int>(p.kv_heads);
  params.q_rows = static_cast<int>(p.q_rows);
  params.kv_rows = static_cast<int>(p.kv_rows);
  params.head_dim = static_cast<int>(p.head_dim);
  params.group = static_cast<int>(p.group());
  params.scale = p.scale;
  params.scale_log2e = static_cast<float>(p.scale * 1.4426950408889634);
  params.runs = runs_of(p);
  params.causal_shift = params.runs.end - 1;
  params.order = {plan.key_tiles, params.kv_heads, params.batch, plan.heads_at_once, plan.last_first};
  params.padded_rows = plan.padded_rows;
  params.padded_dim = plan.head_dim;
  params.in_order = plan.deterministic;
  params.sums_by_element = plan.kernel == BackwardKernel::ampere_backward;
  const int64_t rows = p.batch * p.q_heads * plan.padded_rows;
  params.lse_log2 = static_cast<float*>(workspace.data);
  params.delta = params.lse_log2 + rows;
  params.dq_sums = params.delta + rows;
  params.counters = reinterpret_cast<int*>(params.dq_sums + rows * plan.head_dim);
  return params;
}

void run_backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
                  Workspace workspace) {
  const kernels::BackwardParams params = params_for(plan, problem, args, workspace);
  void* stream = args.execution.stream;
  if (plan.kernel == BackwardKernel::naive_backward)
    return kernels::naive_backward::launch(problem.dtype, params, stream);
  kernels::prepare_backward::launch(problem.dtype, params, stream);
  if (plan.kernel == BackwardKernel::hopper_backward && problem.window.limits()) {
    kernels::hopper_backward::launch_runs(problem.dtype, params, plan.tuning, stream);
  } else if (plan.kernel == BackwardKernel::hopper_backward) {
    kernels::hopper_backward::launch(problem.dtype, params, plan.tuning, stream);
  } else {
    kernels::ampere_backward::launch(problem.dtype, params, plan.tuning, stream);
  }
  kernels::finish_backward::launch(problem.dtype, params, stream);
}

}  // namespace flashmoe::dispatch::inline FLASHMOE_TARGET

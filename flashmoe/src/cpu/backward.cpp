// SPDX-License-Identifier: MIT
// The driver: plan, hand the tasks to the threads, add up the shares of dq where keys are split.
#include "cpu/backward.h"

#include "cpu/arena.h"
#include "cpu/backward_kernels.h"
#include "cpu/backward_tasks.h"
#include "cpu/forward.h"
#include "cpu/neon_bf16.h"
#include "cpu/run_tasks.h"
#include "cpu/usable_cores.h"

namespace flashmoe::cpu {

std::array<const BackwardKernel*, 4> backward_kernels(const ForwardProblem& problem) {
  if (problem.spans.first_keys > 0) return {&portable_backward_kernel()};  // the others know one run of keys
  std::array<const BackwardKernel*, 4> kernels{};
  std::size_t count = 0;
#ifdef FLASHMOE_NEON_BF16
  if (problem.dtype == DType::bf16 && !problem.changes_pairs() && neon_bf16_supported())
    kernels[count++] = &neon_bf16_backward_kernel();
#endif
#ifdef FLASHMOE_HIGHWAY
  kernels[count++] = &tiled_backward_kernel(problem.dtype);
#endif
  kernels[count] = &portable_backward_kernel();
  return kernels;
}

BackwardPlan plan_backward(const ForwardProblem& problem, const Execution& execution,
                           const PairGradient& dattn_mask) {
  return make_plan(problem, choose_backward_kernel(problem), threads_for(execution.threads),
                   PairTurns::of(dattn_mask));
}

void backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
              Workspace workspace) {
  Arena arena(static_cast<std::byte*>(workspace.data));
  auto* scratch = arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
  auto* sums = arena.take<float>(plan.sums() * share_floats(plan));
  const PlannedBackward all{.problem = problem, .plan = plan, .origin = {}, .shares = sums};
  const BackwardTasks tasks(
      args,
      {.scratch = scratch, .scratch_bytes = plan.scratch_bytes, .dq_sums = sums, .sums = share_floats(plan)});
  run_tasks(plan.groups * plan.splits, plan.threads, plan.core_us, [&](int64_t number, int slot) {
    const int64_t split = number / plan.groups;
    plan.turns.each_in_group(problem, number % plan.groups,
                             [&](int64_t head) { tasks.run(all, split * plan.heads + head, slot); });
  });
  run_tasks(BackwardTasks::combine_tasks(plan), plan.threads, plan.core_us,
            [&](int64_t index, int) { tasks.combine(all, index); });
}

std::string explain_backward(const ForwardProblem& problem, const Execution& execution,
                             const PairGradient& dattn_mask) {
  return describe(plan_backward(problem, execution, dattn_mask), problem) +
         "  instruction set: " + instruction_set() + "\n";
}

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
// The driver: plan, and hand the tasks to the threads.
#include "cpu/forward.h"

#include "cpu/arena.h"
#include "cpu/forward_tasks.h"
#include "cpu/kernels.h"
#include "cpu/run_tasks.h"
#include "cpu/usable_cores.h"

namespace flashmoe::cpu {

Plan plan_forward(const ForwardProblem& problem, const Execution& execution) {
  return make_plan(problem, choose_kernel(problem), threads_for(execution.threads));
}

void forward(const Plan& plan, const ForwardProblem& problem, const ForwardArgs& args, Workspace workspace) {
  Arena arena(static_cast<std::byte*>(workspace.data));
  auto* scratch = arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
  const PlannedForward all{
      .problem = problem, .plan = plan, .origin = {}, .partials = Partials(arena, plan, problem.head_dim)};
  const ForwardTasks tasks(args, scratch, plan.scratch_bytes);
  run_tasks(plan.tasks(), plan.threads, plan.core_us,
            [&](int64_t index, int slot) { tasks.run(all, index, slot); });
}

std::string explain_forward(const ForwardProblem& problem, const Execution& execution) {
  return describe(plan_forward(problem, execution), problem) + "  instruction set: " + instruction_set() +
         "\n";
}

std::string instruction_set() {
#ifdef FLASHMOE_HIGHWAY
  return simd_name();
#else
  return "portable: slow, built without Google Highway";
#endif
}

}  // namespace flashmoe::cpu

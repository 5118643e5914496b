// SPDX-License-Identifier: MIT
#include "cpu/forward_sequences.h"

#include <algorithm>
#include <memory>

#include "cpu/arena.h"
#include "cpu/fill_rows.h"
#include "cpu/forward.h"
#include "cpu/forward_tasks.h"
#include "cpu/kernels.h"
#include "cpu/run_tasks.h"
#include "cpu/task_list.h"
#include "cpu/usable_cores.h"

namespace flashmoe::cpu {
namespace {

// The plans of the sequences, and their tasks.
struct List {
  PlannedForward* planned;
  TaskRun* runs;
  RowRun *rows, *first_keys;

  List(Arena& arena, const SequencesPlan& plan)
      : planned(arena.take<PlannedForward>(plan.computed)),
        runs(arena.take<TaskRun>(plan.runs)),
        rows(arena.take<RowRun>(plan.row_runs)),
        first_keys(arena.take<RowRun>(plan.first_key_runs)) {}
};

// visit(number, sequence, problem, plan) for those that have rows and keys.
template <class Visit>
void each_plan(const Sequences& sequences, int threads, const Visit& visit) {
  for (int64_t i = 0; i < sequences.count(); ++i) {
    const Sequence sequence = sequences[i];
    if (sequence.is_empty()) continue;
    const ForwardProblem problem = sequences.problem_of(sequence);
    visit(i, sequence, problem, make_plan(problem.hull(), choose_kernel(problem), threads));
  }
}

void clear(const ForwardArgs& args, const BatchRows& gap) {
  fill_zero(args.out, gap);
  fill_lse(args.lse, args.q, gap);
}

// Task `index` of those that compute nothing: a sequence's rows that don't count, or, behind the sequences,
// those that none of them has.
void clear_gap(const Sequences& sequences, const ForwardArgs& args, int64_t index) {
  if (index < sequences.count()) {
    const Sequence sequence = sequences[index];
    clear(args, sequence.q_gap());
    if (sequence.is_empty()) fill_lse(args.lse, args.q, sequence.q, args.scores.sinks);
    return;
  }
  clear(args, {0, sequences.q_before()});
  clear(args, {0, sequences.q_behind()});
}

}  // namespace

SequencesPlan plan_forward(const Sequences& sequences, const Execution& execution) {
  SequencesPlan plan{.row_runs = sequences.row_runs(), .first_key_runs = sequences.first_key_runs()};
  const int threads = threads_for(execution.threads);
  each_plan(sequences, threads, [&](int64_t, const Sequence&, const ForwardProblem&, const Plan& one) {
    ++plan.computed;
    plan.runs += one.row_blocks;
    plan.tasks += one.tasks();
    plan.core_us += one.core_us;
    plan.scratch_bytes = std::max(plan.scratch_bytes, one.scratch_bytes);
    plan.shared_bytes += one.partial_bytes;
  });
  if (sequences.has_q_gaps()) plan.clear_tasks = sequences.count() + 1;
  plan.threads = static_cast<int>(std::clamp<int64_t>(plan.tasks + plan.clear_tasks, 1, threads));
  Arena arena(nullptr);
  const List list(arena, plan);
  plan.list_bytes = arena.bytes();
  plan.workspace_bytes =
      plan.list_bytes + plan.shared_bytes + static_cast<std::size_t>(plan.threads) * plan.scratch_bytes;
  return plan;
}

void forward(const SequencesPlan& plan, const Sequences& by_rule, const ForwardArgs& args,
             Workspace workspace) {
  Arena arena(static_cast<std::byte*>(workspace.data));
  auto* scratch = arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
  const List list(arena, plan);
  const Sequences sequences = by_rule.with_rows(list.rows, list.first_keys);
  int64_t number = 0;
  TaskRun* run = list.runs;
  each_plan(sequences, threads_for(args.execution.threads),
            [&](int64_t i, const Sequence& sequence, const ForwardProblem& problem, const Plan& one) {
              std::construct_at(list.planned + number,
                                PlannedForward{.problem = problem,
                                               .plan = one,
                                               .origin = Origin::of(sequence, i),
                                               .partials = Partials(arena, one, problem.head_dim)});
              const int64_t count = one.tasks() / one.row_blocks;
              for (int64_t first = 0; first < one.tasks(); first += count) {
                std::construct_at(run++, TaskRun{.us = task_us(one, problem, place_of(one, problem, first)),
                                                 .plan = number,
                                                 .first = first,
                                                 .count = count,
                                                 .number = 0});
              }
              ++number;
            });
  const TaskList all(list.runs, plan.runs);
  const ForwardTasks tasks(args, scratch, plan.scratch_bytes);
  run_tasks(plan.tasks + plan.clear_tasks, plan.threads, plan.core_us, [&](int64_t task, int slot) {
    if (task >= plan.tasks) return clear_gap(sequences, args, task - plan.tasks);
    const auto [of, index] = all[task];
    tasks.run(list.planned[of], index, slot);
  });
}

std::string explain_forward(const Sequences& sequences, const Execution& execution) {
  KernelUses uses;
  each_plan(
      sequences, threads_for(execution.threads),
      [&](int64_t, const Sequence&, const ForwardProblem&, const Plan& one) { uses.add(one.kernel->name); });
  return describe(plan_forward(sequences, execution), sequences, uses) +
         "  instruction set: " + instruction_set() + "\n";
}

}  // namespace flashmoe::cpu

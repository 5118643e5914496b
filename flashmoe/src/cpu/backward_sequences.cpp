// SPDX-License-Identifier: MIT
#include "cpu/backward_sequences.h"

#include <algorithm>
#include <memory>

#include "cpu/arena.h"
#include "cpu/backward_kernels.h"
#include "cpu/backward_tasks.h"
#include "cpu/fill_rows.h"
#include "cpu/forward.h"
#include "cpu/run_tasks.h"
#include "cpu/task_list.h"
#include "cpu/usable_cores.h"

namespace flashmoe::cpu {
namespace {

// The plans of the sequences, and their tasks: those that differentiate, and those that add up dq.
struct List {
  PlannedBackward* planned;
  TaskRun *runs, *combines;
  RowRun *rows, *first_keys;

  List(Arena& arena, const SequencesPlan& plan)
      : planned(arena.take<PlannedBackward>(plan.computed)),
        runs(arena.take<TaskRun>(plan.runs)),
        combines(arena.take<TaskRun>(plan.combine_runs)),
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
    visit(i, sequence, problem, make_plan(problem.hull(), choose_backward_kernel(problem), threads));
  }
}

// Rows without a gradient of q, and of k and v: a sequence's own, or, behind the sequences, those that none
// of them has.
void clear_gaps(const Sequences& sequences, const BackwardArgs& args, int64_t index) {
  const auto clear_k = [&](const BatchRows& gap) {
    fill_zero(args.dk, gap);
    fill_zero(args.dv, gap);
  };
  if (index < sequences.count()) {
    fill_zero(args.dq, sequences[index].q_gap());
    return clear_k(sequences[index].k_gap());
  }
  fill_zero(args.dq, {0, sequences.q_before()});
  fill_zero(args.dq, {0, sequences.q_behind()});
  clear_k({0, sequences.k_before()});
  clear_k({0, sequences.k_behind()});
}

// Tasks of all sequences that add to the same elements of dattn_mask: those of one K/V head or of all of
// them, of one sequence or of all.
class Turns {
 public:
  Turns(const ForwardProblem& whole, const BackwardArgs& args, int64_t planned)
      : turns_(PairTurns::of(args.dattn_mask)),
        heads_(turns_.each_head ? whole.kv_heads : 1),
        planned_(planned),
        each_sequence_(turns_.each_batch && args.lengths.q_starts == nullptr) {}

  int64_t groups() const { return heads_ * (each_sequence_ ? planned_ : 1); }

  // In their order.
  void run_group(int64_t group, const PlannedBackward* planned, const BackwardTasks& tasks, int slot) const {
    const int64_t first = each_sequence_ ? group / heads_ : 0;
    for (int64_t i = first; i < (each_sequence_ ? first + 1 : planned_); ++i) {
      for (int64_t split = 0; split < planned[i].plan.splits; ++split) {
        const auto run = [&](int64_t head) {
          tasks.run(planned[i], split * planned[i].plan.heads + head, slot);
        };
        turns_.each_in_group(planned[i].problem, group % heads_, run);
      }
    }
  }

 private:
  PairTurns turns_;
  int64_t heads_, planned_;
  bool each_sequence_;
};

}  // namespace

SequencesPlan plan_backward(const Sequences& sequences, const Execution& execution) {
  SequencesPlan plan{.row_runs = sequences.row_runs(), .first_key_runs = sequences.first_key_runs()};
  const int threads = threads_for(execution.threads);
  each_plan(
      sequences, threads, [&](int64_t, const Sequence&, const ForwardProblem&, const BackwardPlan& one) {
        ++plan.computed;
        plan.runs += one.splits;
        plan.tasks += one.tasks();
        plan.core_us += one.core_us;
        plan.scratch_bytes = std::max(plan.scratch_bytes, one.scratch_bytes);
        if (one.splits == 1) {
          plan.sums = std::max(plan.sums, share_floats(one));
        } else {
          plan.shared_bytes += static_cast<std::size_t>(one.tasks() * share_floats(one)) * sizeof(float);
          ++plan.combine_runs;
          plan.combine_tasks += BackwardTasks::combine_tasks(one);
        }
      });
  if (sequences.has_q_gaps() || sequences.has_k_gaps()) plan.clear_tasks = sequences.count() + 1;
  plan.threads = static_cast<int>(std::clamp<int64_t>(plan.tasks + plan.clear_tasks, 1, threads));
  Arena arena(nullptr);
  const List list(arena, plan);
  plan.list_bytes = arena.bytes();
  plan.workspace_bytes = plan.list_bytes + plan.shared_bytes +
                         static_cast<std::size_t>(plan.threads) *
                             (plan.scratch_bytes + static_cast<std::size_t>(plan.sums) * sizeof(float));
  return plan;
}

void backward(const SequencesPlan& plan, const Sequences& by_rule, const BackwardArgs& args,
              Workspace workspace) {
  Arena arena(static_cast<std::byte*>(workspace.data));
  ThreadSpace space{.scratch_bytes = plan.scratch_bytes, .sums = plan.sums};
  space.scratch = arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
  space.dq_sums = arena.take<float>(plan.threads * plan.sums);
  const List list(arena, plan);
  const Sequences sequences = by_rule.with_rows(list.rows, list.first_keys);
  int64_t number = 0;
  TaskRun *run = list.runs, *combine = list.combines;
  each_plan(sequences, threads_for(args.execution.threads),
            [&](int64_t i, const Sequence& sequence, const ForwardProblem& problem, const BackwardPlan& one) {
              float* shares = one.splits == 1 ? nullptr : arena.take<float>(one.tasks() * share_floats(one));
              std::construct_at(
                  list.planned + number,
                  PlannedBackward{
                      .problem = problem, .plan = one, .origin = Origin::of(sequence, i), .shares = shares});
              for (int64_t first = 0; first < one.tasks(); first += one.heads) {
                std::construct_at(run++, TaskRun{.us = task_us(one, problem, place_of(one, problem, first)),
                                                 .plan = number,
                                                 .first = first,
                                                 .count = one.heads,
                                                 .number = 0});
              }
              if (one.splits > 1) {
                std::construct_at(combine++, TaskRun{.us = static_cast<double>(one.splits),
                                                     .plan = number,
                                                     .first = 0,
                                                     .count = BackwardTasks::combine_tasks(one),
                                                     .number = 0});
              }
              ++number;
            });
  const TaskList all(list.runs, plan.runs);
  const TaskList combines(list.combines, plan.combine_runs);
  const BackwardTasks tasks(args, space);
  const bool in_turns = args.dattn_mask.data != nullptr;
  const Turns turns(sequences.whole(), args, plan.computed);
  const int64_t runs = in_turns ? turns.groups() : plan.tasks;
  run_tasks(runs + plan.clear_tasks, plan.threads, plan.core_us, [&](int64_t task, int slot) {
    if (task >= runs) return clear_gaps(sequences, args, task - runs);
    if (in_turns) return turns.run_group(task, list.planned, tasks, slot);
    const auto [of, index] = all[task];
    tasks.run(list.planned[of], index, slot);
  });
  run_tasks(plan.combine_tasks, plan.threads, plan.core_us, [&](int64_t task, int) {
    const auto [of, index] = combines[task];
    tasks.combine(list.planned[of], index);
  });
}

std::string explain_backward(const Sequences& sequences, const Execution& execution) {
  KernelUses uses;
  each_plan(sequences, threads_for(execution.threads),
            [&](int64_t, const Sequence&, const ForwardProblem&, const BackwardPlan& one) {
              uses.add(one.kernel->name);
            });
  return describe(plan_backward(sequences, execution), sequences, uses) +
         "  instruction set: " + instruction_set() + "\n";
}

}  // namespace flashmoe::cpu

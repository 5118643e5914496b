// SPDX-License-Identifier: MIT
#include "cpu/forward_tasks.h"

#include <atomic>

#include "cpu/cancel.h"
#include "cpu/combine.h"

namespace flashmoe::cpu {
namespace {

Task task_at(const TaskPlace& place, const PlannedForward& of, const ForwardArgs& args) {
  const ForwardProblem& p = of.problem;
  const int64_t batch = place.head / p.kv_heads;
  const int64_t kv_head = place.head % p.kv_heads;
  const int64_t q_head = kv_head * p.group();
  const int64_t q_batch = of.origin.q_batch + batch;
  const int64_t k_batch = of.origin.k_batch + batch;
  Task task{};
  task.problem = &p;
  task.q = element(args.q, q_batch, q_head, of.origin.q_row);
  task.q_head_stride = args.q.strides[1];
  task.q_row_stride = args.q.strides[2];
  task.k = element(args.k, k_batch, kv_head, of.origin.k_row);
  task.k_row_stride = args.k.strides[2];
  task.v = element(args.v, k_batch, kv_head, of.origin.k_row);
  task.v_row_stride = args.v.strides[2];
  task.out = element(args.out, q_batch, q_head, of.origin.q_row);
  task.out_head_stride = args.out.strides[1];
  task.out_row_stride = args.out.strides[2];
  task.lse_head_stride = args.q.sizes[2];
  if (args.lse != nullptr)
    task.lse = args.lse + (q_batch * p.q_heads + q_head) * task.lse_head_stride + of.origin.q_row;
  task.row_begin = place.row_begin;
  task.row_end = place.row_end;
  task.kv_begin = place.kv_begin;
  task.kv_end = place.kv_end;
  task.heads = of.plan.heads_per_task;
  task.q_heads_stride = p.group() * args.q.strides[1];
  task.k_heads_stride = args.k.strides[1];
  task.v_heads_stride = args.v.strides[1];
  task.out_heads_stride = p.group() * args.out.strides[1];
  task.scores = scores_of(args.scores, of.origin, batch, q_head, p.q_heads);
  task.cancel = args.execution.cancel;
  return task;
}

}  // namespace

void ForwardTasks::run(const PlannedForward& of, int64_t index, int slot) const {
  if (is_cancelled(args_.execution.cancel)) return;
  const Plan& plan = of.plan;
  const TaskPlace place = place_of(plan, of.problem, index);
  Task task = task_at(place, of, args_);
  task.scratch = scratch_ + slot * static_cast<int64_t>(scratch_bytes_);
  if (plan.splits == 1) return plan.kernel->attend(task);

  const Partials& partials = of.partials;
  const int64_t dim = of.problem.head_dim;
  const int64_t rows = place.row_end - place.row_begin;
  const int64_t block = place.head * plan.row_blocks + place.row_block;
  const int64_t first = block * plan.splits * plan.rows_per_task;  // of this block's partial rows
  const int64_t mine = first + place.split * rows;
  task.partial_out = partials.out + mine * dim;
  task.partial_max = partials.max + mine;
  task.partial_sum = partials.sum + mine;
  plan.kernel->attend(task);
  // The last to finish combines, always in the order of the splits.
  if (std::atomic_ref(partials.finished[block]).fetch_add(1, std::memory_order_acq_rel) + 1 == plan.splits)
    combine_splits(task, plan.splits, partials.out + first * dim, partials.max + first, partials.sum + first);
}

}  // namespace flashmoe::cpu

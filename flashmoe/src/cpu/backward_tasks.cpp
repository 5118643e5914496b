// SPDX-License-Identifier: MIT
#include "cpu/backward_tasks.h"

#include <algorithm>

#include "cpu/cancel.h"
#include "numeric/half.h"

namespace flashmoe::cpu {
namespace {

constexpr int64_t kCombineRows = 64;  // of dq, for one thread at a time

template <class Void>
Rows<Void> rows_of(const Tensor& t, int64_t batch, int64_t head, int64_t row) {
  return {element(t, batch, head, row), t.strides[1], t.strides[2]};
}

}  // namespace

BackwardTask BackwardTasks::task_of(const PlannedBackward& of, int64_t head) const {
  const ForwardProblem& p = of.problem;
  const int64_t kv_head = head % p.kv_heads;
  const int64_t q_head = kv_head * p.group();
  const int64_t q_batch = of.origin.q_batch + head / p.kv_heads;
  const int64_t k_batch = of.origin.k_batch + head / p.kv_heads;
  const auto q_rows = [&]<class Void>(const Tensor& t, Rows<Void>& rows) {
    rows = rows_of<Void>(t, q_batch, q_head, of.origin.q_row);
  };
  const auto k_rows = [&]<class Void>(const Tensor& t, Rows<Void>& rows) {
    rows = rows_of<Void>(t, k_batch, kv_head, of.origin.k_row);
  };
  BackwardTask task{};
  task.problem = &p;
  q_rows(args_.q, task.q);
  q_rows(args_.out, task.out);
  q_rows(args_.dout, task.dout);
  q_rows(args_.dq, task.dq);
  k_rows(args_.k, task.k);
  k_rows(args_.v, task.v);
  k_rows(args_.dk, task.dk);
  k_rows(args_.dv, task.dv);
  task.lse_head_stride = args_.q.sizes[2];
  const int64_t first_row = (q_batch * p.q_heads + q_head) * task.lse_head_stride + of.origin.q_row;
  task.lse = args_.lse + first_row;
  task.dlse = args_.dlse == nullptr ? nullptr : args_.dlse + first_row;
  task.scores = scores_of(args_.scores, of.origin, head / p.kv_heads, q_head, p.q_heads);
  task.cancel = args_.execution.cancel;
  task.dpairs = gradient_of(args_.dattn_mask, of.origin, head / p.kv_heads, q_head);
  return task;
}

void BackwardTasks::run(const PlannedBackward& of, int64_t index, int slot) const {
  if (is_cancelled(args_.execution.cancel)) return;
  const BackwardPlan& plan = of.plan;
  const BackwardPlace place = place_of(plan, of.problem, index);
  BackwardTask task = task_of(of, place.head);
  task.kv_begin = place.kv_begin;
  task.kv_end = place.kv_end;
  task.stores_dq = plan.splits == 1;
  task.dq_sums = task.stores_dq ? space_.dq_sums + slot * space_.sums
                                : of.shares + (place.head * plan.splits + place.split) * share_floats(plan);
  task.scratch = space_.scratch + slot * static_cast<int64_t>(space_.scratch_bytes);
  plan.kernel->differentiate(task);
}

int64_t BackwardTasks::combine_tasks(const BackwardPlan& plan) {
  return plan.splits == 1 ? 0 : plan.heads * ceil_div(plan.rows, kCombineRows);
}

template <class T>
void BackwardTasks::combine_rows(const PlannedBackward& of, int64_t index) const {
  const ForwardProblem& p = of.problem;
  const BackwardPlan& plan = of.plan;
  const int64_t head = index % plan.heads;
  const int64_t begin = index / plan.heads * kCombineRows;
  const int64_t stride = plan.kernel->sum_stride(p.head_dim);
  const auto dq = task_of(of, head).dq.template as<T>(p.group());
  float total[kMaxHeadDim];
  for (int64_t r = begin; r < std::min(plan.rows, begin + kCombineRows); ++r) {
    std::fill_n(total, p.head_dim, 0.0F);
    for (int64_t split = 0; split < plan.splits; ++split) {
      const float* share = of.shares + (head * plan.splits + split) * share_floats(plan) + r * stride;
      for (int64_t d = 0; d < p.head_dim; ++d) total[d] += share[d];
    }
    T* to = dq[r];
    for (int64_t d = 0; d < p.head_dim; ++d) to[d] = from_float<T>(total[d] * p.scale);
  }
}

void BackwardTasks::combine(const PlannedBackward& of, int64_t index) const {
  if (is_cancelled(args_.execution.cancel)) return;  // not every share has been written
  switch (of.problem.dtype) {
    case DType::fp32:
      return combine_rows<float>(of, index);
    case DType::fp16:
      return combine_rows<fp16>(of, index);
    case DType::bf16:
      return combine_rows<bf16>(of, index);
  }
}

}  // namespace flashmoe::cpu

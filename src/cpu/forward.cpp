// SPDX-License-Identifier: MIT
// The driver: plan, hand the tasks to the threads, combine what was split.
#include "cpu/forward.h"

#include <algorithm>
#include <atomic>

#include "cpu/arena.h"
#include "cpu/combine.h"
#include "cpu/kernels.h"
#include "cpu/thread_pool.h"
#include "cpu/usable_cores.h"

namespace flashmoe::cpu {
namespace {

void* element(const Tensor& t, int64_t batch, int64_t head) {
  return static_cast<std::byte*>(t.data) +
         (batch * t.strides[0] + head * t.strides[1]) * element_bytes(t.dtype);
}

class Forward {
 public:
  Forward(const ForwardProblem& problem, const ForwardArgs& args, const Plan& plan, Workspace workspace)
      : problem_(problem), args_(args), plan_(plan) {
    Arena arena(static_cast<std::byte*>(workspace.data));
    scratch_ = arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
    if (plan.splits == 1) return;
    finished_ = arena.take<int32_t>(plan.heads * plan.row_blocks);
    out_ = arena.take<float>(plan.tasks() * plan.rows_per_task * problem.head_dim);
    max_ = arena.take<float>(plan.tasks() * plan.rows_per_task);
    sum_ = arena.take<float>(plan.tasks() * plan.rows_per_task);
    std::fill_n(finished_, plan.heads * plan.row_blocks, 0);
  }

  void operator()(int64_t index, int slot) const {
    const TaskPlace place = place_of(plan_, problem_, index);
    Task task = task_at(place);
    task.scratch = scratch_ + slot * static_cast<int64_t>(plan_.scratch_bytes);
    if (plan_.splits == 1) return plan_.kernel->attend(task);

    const int64_t rows = place.row_end - place.row_begin;
    const int64_t block = place.head * plan_.row_blocks + place.row_block;
    const int64_t first = block * plan_.splits * plan_.rows_per_task;  // of this block's partial rows
    const int64_t mine = first + place.split * rows;
    task.partial_out = out_ + mine * problem_.head_dim;
    task.partial_max = max_ + mine;
    task.partial_sum = sum_ + mine;
    plan_.kernel->attend(task);
    // The last to finish combines, always in the order of the splits.
    if (std::atomic_ref(finished_[block]).fetch_add(1, std::memory_order_acq_rel) + 1 == plan_.splits) {
      combine_splits(task, plan_.splits, out_ + first * problem_.head_dim, max_ + first, sum_ + first);
    }
  }

 private:
  Task task_at(const TaskPlace& place) const {
    const int64_t batch = place.head / problem_.kv_heads;
    const int64_t kv_head = place.head % problem_.kv_heads;
    const int64_t q_head = kv_head * problem_.group();
    Task task{};
    task.problem = &problem_;
    task.q = element(args_.q, batch, q_head);
    task.q_head_stride = args_.q.strides[1];
    task.q_row_stride = args_.q.strides[2];
    task.k = element(args_.k, batch, kv_head);
    task.k_row_stride = args_.k.strides[2];
    task.v = element(args_.v, batch, kv_head);
    task.v_row_stride = args_.v.strides[2];
    task.out = element(args_.out, batch, q_head);
    task.out_head_stride = args_.out.strides[1];
    task.out_row_stride = args_.out.strides[2];
    if (args_.lse != nullptr) task.lse = args_.lse + (batch * problem_.q_heads + q_head) * problem_.q_rows;
    task.row_begin = place.row_begin;
    task.row_end = place.row_end;
    task.kv_begin = place.kv_begin;
    task.kv_end = place.kv_end;
    task.heads = plan_.heads_per_task;
    task.q_heads_stride = problem_.group() * args_.q.strides[1];
    task.k_heads_stride = args_.k.strides[1];
    task.v_heads_stride = args_.v.strides[1];
    task.out_heads_stride = problem_.group() * args_.out.strides[1];
    return task;
  }

  const ForwardProblem& problem_;
  const ForwardArgs& args_;
  const Plan& plan_;
  std::byte* scratch_ = nullptr;
  int32_t* finished_ = nullptr;  // splits done, for each row block
  float* out_ = nullptr;
  float* max_ = nullptr;
  float* sum_ = nullptr;
};

}  // namespace

Plan plan_forward(const ForwardProblem& problem, const Execution& execution) {
  return make_plan(problem, choose_kernel(problem), threads_for(execution.threads));
}

void forward(const Plan& plan, const ForwardProblem& problem, const ForwardArgs& args, Workspace workspace) {
  const Forward task(problem, args, plan, workspace);
  if (plan.threads == 1) {
    for (int64_t i = 0; i < plan.tasks(); ++i) task(i, 0);
  } else {
    ThreadPool::of_process().run(plan.tasks(), plan.threads, plan.core_us > kWorthWakingUs, task);
  }
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

// SPDX-License-Identifier: MIT
// The driver: plan, hand the tasks to the threads, add up the shares of dq where keys are split.
#include "cpu/backward.h"

#include <algorithm>

#include "cpu/arena.h"
#include "cpu/backward_kernels.h"
#include "cpu/forward.h"
#include "cpu/neon_bf16.h"
#include "cpu/thread_pool.h"
#include "cpu/usable_cores.h"
#include "numeric/half.h"

namespace flashmoe::cpu {
namespace {

constexpr int64_t kCombineRows = 64;  // of dq, for one thread at a time

template <class Void>
Rows<Void> rows_of(const Tensor& t, int64_t batch, int64_t head) {
  return {
      static_cast<std::byte*>(t.data) + (batch * t.strides[0] + head * t.strides[1]) * element_bytes(t.dtype),
      t.strides[1], t.strides[2]};
}

class Backward {
 public:
  Backward(const ForwardProblem& problem, const BackwardArgs& args, const BackwardPlan& plan,
           Workspace workspace)
      : problem_(problem), args_(args), plan_(plan) {
    Arena arena(static_cast<std::byte*>(workspace.data));
    scratch_ = arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
    dq_sums_ = arena.take<float>(0);
  }

  void operator()(int64_t index, int slot) const {
    const BackwardPlace place = place_of(plan_, problem_, index);
    BackwardTask task = task_of(place.head);
    task.kv_begin = place.kv_begin;
    task.kv_end = place.kv_end;
    task.dq_sums = sums(plan_.splits == 1 ? slot : place.head * plan_.splits + place.split);
    task.stores_dq = plan_.splits == 1;
    task.scratch = scratch_ + slot * static_cast<int64_t>(plan_.scratch_bytes);
    plan_.kernel->differentiate(task);
  }

  int64_t combine_tasks() const { return plan_.heads * ceil_div(plan_.rows, kCombineRows); }

  // Some rows of dq from the shares of all splits of their head, always in the same order.
  void combine(int64_t index) const {
    switch (problem_.dtype) {
      case DType::fp32:
        return combine_rows<float>(index);
      case DType::fp16:
        return combine_rows<fp16>(index);
      case DType::bf16:
        return combine_rows<bf16>(index);
    }
  }

 private:
  float* sums(int64_t index) const {
    return dq_sums_ + index * round_up(plan_.dq_sums, kCacheLine / sizeof(float));
  }

  template <class T>
  void combine_rows(int64_t index) const {
    const int64_t head = index % plan_.heads;
    const int64_t begin = index / plan_.heads * kCombineRows;
    const int64_t stride = plan_.kernel->sum_stride(problem_.head_dim);
    const auto dq = task_of(head).dq.template as<T>(problem_.group());
    float total[kMaxHeadDim];
    for (int64_t r = begin; r < std::min(plan_.rows, begin + kCombineRows); ++r) {
      std::fill_n(total, problem_.head_dim, 0.0F);
      for (int64_t split = 0; split < plan_.splits; ++split) {
        const float* share = sums(head * plan_.splits + split) + r * stride;
        for (int64_t d = 0; d < problem_.head_dim; ++d) total[d] += share[d];
      }
      T* to = dq[r];
      for (int64_t d = 0; d < problem_.head_dim; ++d) to[d] = from_float<T>(total[d] * problem_.scale);
    }
  }

  BackwardTask task_of(int64_t head) const {
    const int64_t batch = head / problem_.kv_heads;
    const int64_t kv_head = head % problem_.kv_heads;
    const int64_t q_head = kv_head * problem_.group();
    const int64_t first_row = (batch * problem_.q_heads + q_head) * problem_.q_rows;
    BackwardTask task{};
    task.problem = &problem_;
    task.q = rows_of<const void>(args_.q, batch, q_head);
    task.out = rows_of<const void>(args_.out, batch, q_head);
    task.dout = rows_of<const void>(args_.dout, batch, q_head);
    task.k = rows_of<const void>(args_.k, batch, kv_head);
    task.v = rows_of<const void>(args_.v, batch, kv_head);
    task.dq = rows_of<void>(args_.dq, batch, q_head);
    task.dk = rows_of<void>(args_.dk, batch, kv_head);
    task.dv = rows_of<void>(args_.dv, batch, kv_head);
    task.lse = args_.lse + first_row;
    task.dlse = args_.dlse == nullptr ? nullptr : args_.dlse + first_row;
    return task;
  }

  const ForwardProblem& problem_;
  const BackwardArgs& args_;
  const BackwardPlan& plan_;
  std::byte* scratch_ = nullptr;
  float* dq_sums_ = nullptr;
};

}  // namespace

std::array<const BackwardKernel*, 4> backward_kernels([[maybe_unused]] const ForwardProblem& problem) {
  std::array<const BackwardKernel*, 4> kernels{};
  std::size_t count = 0;
#ifdef FLASHMOE_NEON_BF16
  if (problem.dtype == DType::bf16 && neon_bf16_supported()) kernels[count++] = &neon_bf16_backward_kernel();
#endif
#ifdef FLASHMOE_HIGHWAY
  kernels[count++] = &tiled_backward_kernel(problem.dtype);
#endif
  kernels[count] = &portable_backward_kernel();
  return kernels;
}

BackwardPlan plan_backward(const ForwardProblem& problem, const Execution& execution) {
  return make_plan(problem, choose_backward_kernel(problem), threads_for(execution.threads));
}

void backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
              Workspace workspace) {
  const Backward task(problem, args, plan, workspace);
  if (plan.threads == 1) {
    for (int64_t i = 0; i < plan.tasks(); ++i) task(i, 0);
    if (plan.splits > 1)
      for (int64_t i = 0; i < task.combine_tasks(); ++i) task.combine(i);
    return;
  }
  const bool wake = plan.core_us > kWorthWakingUs;
  ThreadPool::of_process().run(plan.tasks(), plan.threads, wake, task);
  if (plan.splits > 1) {
    ThreadPool::of_process().run(task.combine_tasks(), plan.threads, wake,
                                 [&task](int64_t index, int) { task.combine(index); });
  }
}

std::string explain_backward(const ForwardProblem& problem, const Execution& execution) {
  return describe(plan_backward(problem, execution), problem) + "  instruction set: " + instruction_set() +
         "\n";
}

}  // namespace flashmoe::cpu

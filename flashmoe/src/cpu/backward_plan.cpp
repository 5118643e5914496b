// SPDX-License-Identifier: MIT
#include "cpu/backward_plan.h"

#include <algorithm>

#include "cpu/arena.h"

namespace flashmoe::cpu {
namespace {

constexpr int64_t kLeastKeys = 64;     // of a split: below, packing rows costs more than a thread brings
constexpr double kUsefulSplit = 0.85;  // split only where that leaves at most this share of the time
constexpr double kCombineKeys = 2;     // adding one share of dq, in keys of arithmetic
constexpr double kProducts = 5;        // S, dP, dV, dK, dQ

// Mean share of the rows that see a key, of `keys`.
double seen_share(const ForwardProblem& p, Range keys, int64_t samples = 64) {
  int64_t seen = 0;
  for (int64_t i = 0; i < samples; ++i) {
    const Range by_row = p.visible((2 * i + 1) * p.q_rows / (2 * samples));
    seen += std::max<int64_t>(std::min(by_row.end, keys.end) - std::max(by_row.begin, keys.begin), 0);
  }
  return static_cast<double>(seen) / static_cast<double>(samples * keys.size());
}
double seen_share(const ForwardProblem& p) { return seen_share(p, {0, p.kv_rows}); }

// Until the last thread is done, in units of one row against one key.
double finish_time(const ForwardProblem& p, const BackwardKernel& kernel, int64_t heads, int64_t splits,
                   int threads) {
  const auto rows = static_cast<double>(p.group() * p.q_rows);
  const auto keys = static_cast<double>(round_up(ceil_div(p.kv_rows, splits), kLeastKeys));
  const double longest = rows * (keys + kernel.packing_keys);
  const double mean = longest * seen_share(p);
  const int64_t tasks = heads * splits;
  // Equal tasks go in rounds. Unequal ones, longest first, fill the gaps. Either way the last thread is late
  // by up to half a task: tasks are never quite equal, and cores even less.
  const double late = mean * (1 - 1.0 / threads) / 2;
  const double rounds = p.sees_all() || p.hides_first_keys() || splits == 1
                            ? static_cast<double>(ceil_div(tasks, threads)) * mean
                            : std::max(longest, mean * static_cast<double>(tasks) / threads);
  const double combine = splits == 1 ? 0 : rows * kCombineKeys * static_cast<double>(tasks) / threads;
  return rounds + late + combine;
}

}  // namespace

BackwardPlan make_plan(const ForwardProblem& p, const BackwardKernel& kernel, int threads,
                       const PairTurns& turns) {
  BackwardPlan plan{};
  plan.kernel = &kernel;
  plan.heads = p.batch * p.kv_heads;
  plan.turns = turns;
  plan.groups = turns.groups(p);
  plan.rows = p.group() * p.q_rows;

  const double whole = finish_time(p, kernel, plan.groups, 1, threads);
  int64_t best = 1;
  double best_time = kUsefulSplit * whole;
  const int64_t most = turns.each_key ? ceil_div(p.kv_rows, kLeastKeys) : 1;
  for (int64_t splits = 2; splits <= most && plan.groups * splits <= 8 * static_cast<int64_t>(threads);
       ++splits) {
    const double time = finish_time(p, kernel, plan.groups, splits, threads);
    if (time < best_time) {
      best = splits;
      best_time = time;
    }
  }
  plan.keys_per_split = best == 1 ? p.kv_rows : round_up(ceil_div(p.kv_rows, best), kLeastKeys);
  plan.splits = ceil_div(p.kv_rows, plan.keys_per_split);
  plan.threads = static_cast<int>(std::min<int64_t>(threads, plan.groups * plan.splits));
  plan.dq_sums = round_up(plan.rows, kernel.panel_rows) * kernel.sum_stride(p.head_dim);
  plan.core_us = 2 * kProducts * seen_share(p) * static_cast<double>(plan.heads * plan.rows) *
                 static_cast<double>(p.kv_rows * p.head_dim) / kernel.core_flop_per_us;

  plan.scratch_bytes = static_cast<std::size_t>(
      round_up(static_cast<int64_t>(kernel.scratch_bytes(p, plan.keys_per_split)), kCacheLine));
  Arena arena(nullptr);
  arena.take<std::byte>(plan.threads * static_cast<int64_t>(plan.scratch_bytes));
  for (int64_t i = 0; i < plan.sums(); ++i) arena.take<float>(plan.dq_sums);
  plan.workspace_bytes = arena.bytes();
  return plan;
}

BackwardPlace place_of(const BackwardPlan& plan, const ForwardProblem& p, int64_t task) {
  BackwardPlace place{};
  place.head = task % plan.heads;
  place.split = task / plan.heads;
  place.kv_begin = place.split * plan.keys_per_split;
  place.kv_end = std::min(p.kv_rows, place.kv_begin + plan.keys_per_split);
  return place;
}

double task_us(const BackwardPlan& plan, const ForwardProblem& p, const BackwardPlace& place) {
  const Range keys{place.kv_begin, place.kv_end};
  const double rows = static_cast<double>(plan.rows) * seen_share(p, keys, 16);
  return 2 * kProducts * rows * (static_cast<double>(keys.size()) + plan.kernel->packing_keys) *
         static_cast<double>(p.head_dim) / plan.kernel->core_flop_per_us;
}

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
#include "cpu/plan.h"

#include <algorithm>

#include "cpu/arena.h"
#include "cpu/partials.h"

namespace flashmoe::cpu {
namespace {

constexpr int64_t kMostRows = 1024;    // of a task: what it keeps in scratch stays in the second cache
constexpr int64_t kLeastKeys = 512;    // of a split: below, starting and combining costs more than it brings
constexpr double kUsefulSplit = 0.85;  // split the keys only where that leaves at most this share of the time

struct Cut {
  int64_t rows_per_task = 1;
  int64_t splits = 1;
  double time = 0;  // until the last thread is done, in units of one row against one key
};

// Sum over row = 0 to rows - 1 of row + shift, cut to [0, most].
double sum_of_ramp(int64_t rows, int64_t shift, int64_t most) {
  const int64_t rises = std::clamp<int64_t>(-shift, 0, rows);           // from this row on
  const int64_t ends = std::clamp<int64_t>(most - shift, rises, rows);  // and no more from this one on
  const auto count = static_cast<double>(ends - rises);
  return count * (static_cast<double>(rises + ends - 1) / 2 + static_cast<double>(shift)) +
         static_cast<double>(rows - ends) * static_cast<double>(most);
}

bool end_moves(const ForwardProblem& p) { return p.visible(0).end < p.kv_rows; }

// Mean number of keys that a row sees.
double mean_keys(const ForwardProblem& p) {
  const auto rows = static_cast<double>(p.q_rows);
  const int64_t first = p.first_position();
  const double ends = end_moves(p) ? sum_of_ramp(p.q_rows, first + p.keys_behind() + 1, p.kv_rows)
                                   : rows * static_cast<double>(p.kv_rows);
  const double begins = p.hides_first_keys() ? sum_of_ramp(p.q_rows, first - p.window.left, p.kv_rows) : 0;
  return (ends - begins) / rows;
}

// Number of keys that the row which sees most sees: the first or the last, or the one whose run begins to
// move or ends to.
double most_keys(const ForwardProblem& p) {
  int64_t most = 0;
  const int64_t first = p.first_position();
  const int64_t begins = p.hides_first_keys() ? p.window.left - first : 0;
  const int64_t ends = end_moves(p) ? p.kv_rows - 1 - p.keys_behind() - first : 0;
  for (const int64_t row : {int64_t{0}, begins, ends, p.q_rows - 1})
    most = std::max(most, p.visible(std::clamp<int64_t>(row, 0, p.q_rows - 1)).size());
  return static_cast<double>(most);
}

// Mean number of keys that any of `rows` packed rows sees: all of them are worked on.
double mean_keys_of_any(const ForwardProblem& p, int64_t rows) {
  if (p.sees_all()) return most_keys(p);
  const double ahead = static_cast<double>(rows) / static_cast<double>(p.group()) / 2;
  const int moving = (end_moves(p) ? 1 : 0) + (p.hides_first_keys() ? 1 : 0);
  const auto all = static_cast<double>(p.visible_to_any().size());
  return std::min(moving == 2 ? all : most_keys(p), mean_keys(p) + ahead * moving);
}

// Equal tasks go in rounds. Unequal ones, longest first, fill the gaps, and no task is longer than the one of
// the last rows. In either case the last thread is late by up to half a task of mean length: tasks are never
// quite equal, and cores even less.
double finish_time(const ForwardProblem& p, const Kernel& kernel, int64_t heads, int64_t rows, const Cut& cut,
                   int threads) {
  const int64_t row_blocks = ceil_div(rows, cut.rows_per_task);
  const int64_t tasks = heads * row_blocks * cut.splits;
  const auto splits = static_cast<double>(cut.splits);
  const auto padded = static_cast<double>(round_up(cut.rows_per_task, kernel.panel_rows));
  const double mean = (padded * mean_keys_of_any(p, kernel.panel_rows) +
                       kernel.packing_rows * mean_keys_of_any(p, cut.rows_per_task)) /
                      splits;
  const double late = mean * (1 - 1.0 / threads) / 2;
  double time = 0;
  // Under a window of keys on both sides tasks are about equal.
  if (!end_moves(p) || p.hides_first_keys() || row_blocks == 1) {
    time = static_cast<double>(ceil_div(tasks, threads)) * mean + late;
  } else {
    time = (padded + kernel.packing_rows) * most_keys(p) / splits;  // of the longest
    if (tasks > threads) time = std::max(time, mean * static_cast<double>(tasks) / threads + late);
  }
  // Combining reads every partial row once, from the second cache or further.
  if (cut.splits > 1) time += padded * static_cast<double>(cut.splits) * 4;
  return time;
}

// K/V heads that a task takes together: as many of a batch entry as leave all threads busy as long as one
// head a task would.
int64_t heads_together(const ForwardProblem& p, const Kernel& kernel, int64_t heads, int threads) {
  if (!kernel.takes_heads) return 1;
  for (int64_t n = std::min(p.kv_heads, kMostHeads); n > 1; --n) {
    if (p.kv_heads % n == 0 && ceil_div(heads / n, threads) * n <= ceil_div(heads, threads)) return n;
  }
  return 1;
}

}  // namespace

Plan make_plan(const ForwardProblem& p, const Kernel& kernel, int threads) {
  const int64_t heads = p.batch * p.kv_heads;
  const int64_t rows = p.group() * p.q_rows;
  const int64_t keys = p.visible_to_any().size();
  const int64_t panel = kernel.panel_rows;

  Cut best;
  const auto consider = [&](Cut cut) {
    cut.time = finish_time(p, kernel, heads, rows, cut, threads);
    if (best.time == 0 || cut.time < best.time) best = cut;
  };
  const auto consider_rows = [&](int64_t splits) {
    const int64_t least_blocks = ceil_div(rows, std::max(panel, kMostRows / panel * panel));
    for (int64_t blocks = least_blocks; blocks <= ceil_div(rows, panel);
         blocks = std::max(blocks + 1, blocks * 5 / 4)) {
      consider({.rows_per_task = round_up(ceil_div(rows, blocks), panel), .splits = splits});
      if (heads * blocks * splits > 16 * static_cast<int64_t>(threads)) break;
    }
  };
  consider_rows(1);
  const double ideal = finish_time(p, kernel, heads, rows, {best.rows_per_task, 1}, 1) / threads;
  if (ideal < kUsefulSplit * best.time) {
    const Cut whole = best;
    for (int64_t splits = 2; splits <= std::min<int64_t>(2 * threads, keys / kLeastKeys); ++splits) {
      consider_rows(splits);
    }
    if (best.time > kUsefulSplit * whole.time) best = whole;
  }

  Plan plan{};
  plan.kernel = &kernel;
  plan.heads = heads;
  plan.rows = rows;
  plan.rows_per_task = std::min(best.rows_per_task, rows);
  plan.row_blocks = ceil_div(rows, plan.rows_per_task);
  plan.keys_per_split = best.splits == 1 ? keys : round_up(ceil_div(keys, best.splits), 64);
  plan.splits = ceil_div(keys, plan.keys_per_split);
  const bool whole = plan.row_blocks == 1 && plan.splits == 1;
  plan.heads_per_task = whole ? heads_together(p, kernel, heads, threads) : 1;
  plan.threads = static_cast<int>(std::min<int64_t>(threads, plan.tasks()));
  // Arithmetic, and packing q, k, v and the output, which is most of it where rows and keys are few.
  constexpr double kElementsPerUs = 3000;
  plan.core_us = 4 * mean_keys(p) * static_cast<double>(heads * rows * p.head_dim) / kernel.core_flop_per_us +
                 static_cast<double>(2 * heads * (rows + keys) * p.head_dim) / kElementsPerUs;

  plan.scratch_bytes = static_cast<std::size_t>(
      plan.heads_per_task *
      round_up(static_cast<int64_t>(kernel.scratch_bytes(p, plan.rows_per_task)), kCacheLine));
  Arena arena(nullptr);
  const Partials partials(arena, plan, p.head_dim);
  plan.partial_bytes = arena.bytes();
  plan.workspace_bytes = plan.partial_bytes + static_cast<std::size_t>(plan.threads) * plan.scratch_bytes;
  return plan;
}

TaskPlace place_of(const Plan& plan, const ForwardProblem& p, int64_t task) {
  TaskPlace place{};
  place.split = task % plan.splits;
  const int64_t head_groups = plan.heads / plan.heads_per_task;
  place.head = task / plan.splits % head_groups * plan.heads_per_task;
  place.row_block = plan.row_blocks - 1 - task / plan.splits / head_groups;
  place.row_begin = place.row_block * plan.rows_per_task;
  place.row_end = std::min(plan.rows, place.row_begin + plan.rows_per_task);
  const Range keys = p.visible_to_any();
  place.kv_begin = std::min(keys.end, keys.begin + place.split * plan.keys_per_split);
  place.kv_end = std::min(keys.end, place.kv_begin + plan.keys_per_split);
  return place;
}

double task_us(const Plan& plan, const ForwardProblem& p, const TaskPlace& place) {
  const Range first = p.visible(place.row_begin / p.group());
  const Range last = p.visible((place.row_end - 1) / p.group());
  const int64_t keys = std::min(last.end, place.kv_end) - std::max(first.begin, place.kv_begin);
  const double rows =
      static_cast<double>(round_up(place.row_end - place.row_begin, plan.kernel->panel_rows)) +
      plan.kernel->packing_rows;
  return 4 * rows * static_cast<double>(std::max<int64_t>(keys, 0) * p.head_dim * plan.heads_per_task) /
         plan.kernel->core_flop_per_us;
}

}  // namespace flashmoe::cpu

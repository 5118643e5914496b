// SPDX-License-Identifier: MIT
// Where the results of split keys wait until all of them are there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/arena.h"
#include "cpu/plan.h"

namespace flashmoe::cpu {

struct Partials {
  int32_t* finished = nullptr;  // splits done, for each row block of each head
  float* out = nullptr;
  float* max = nullptr;
  float* sum = nullptr;

  Partials() = default;
  // Nothing where the plan splits no keys.
  Partials(Arena& arena, const Plan& plan, int64_t head_dim) {
    if (plan.splits == 1) return;
    finished = arena.take<int32_t>(plan.heads * plan.row_blocks);
    out = arena.take<float>(plan.tasks() * plan.rows_per_task * head_dim);
    max = arena.take<float>(plan.tasks() * plan.rows_per_task);
    sum = arena.take<float>(plan.tasks() * plan.rows_per_task);
    if (finished != nullptr) std::fill_n(finished, plan.heads * plan.row_blocks, 0);
  }
};

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
// Puts together the rows whose keys were split over several tasks.
#pragma once

#include <cstdint>

#include "cpu/task.h"

namespace flashmoe::cpu {

// Rows [task.row_begin, task.row_end) from `splits` partial results, which lie one after the other: for split
// s and row i of n, out[(s * n + i) * head_dim ...], max[s * n + i] and sum[s * n + i]. Writes task.out and
// task.lse. A split in which a row sees nothing has max -inf and sum 0, and changes nothing. Overwrites the
// partials.
void combine_splits(const Task& task, int64_t splits, float* out, const float* max, const float* sum);

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
// Runs one CPU kernel on a test problem, whatever the driver would choose.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "cpu/store_row.h"
#include "cpu/task.h"
#include "support/problem.h"

namespace flashmoe::test {

struct Split {
  int64_t rows = 1 << 30;  // packed rows of a task
  int64_t keys =
      1 << 30;  // keys of a task; fewer than there are leaves partial results, which are combined here
};

inline void run_kernel(const cpu::Kernel& kernel, Problem& problem, Split split = {}) {
  const ForwardProblem& p = problem.problem;
  const ForwardArgs& args = problem.args;
  const auto at = [](const Tensor& t, int64_t b, int64_t h) -> void* {
    return static_cast<std::byte*>(t.data) + (b * t.strides[0] + h * t.strides[1]) * element_bytes(t.dtype);
  };
  const int64_t all_rows = p.group() * p.q_rows;
  const std::size_t scratch_bytes = kernel.scratch_bytes(p, std::min(all_rows, split.rows));
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.kv_heads; ++h) {
      for (int64_t row = 0; row < all_rows; row += split.rows) {
        const int64_t rows = std::min(split.rows, all_rows - row);
        const int64_t parts = (p.kv_rows + split.keys - 1) / split.keys;
        const auto size = static_cast<std::size_t>(parts * rows);
        std::vector<float> out(size * static_cast<std::size_t>(p.head_dim)), max(size), sum(size);
        cpu::Task task{.problem = &p,
                       .q = at(args.q, b, h * p.group()),
                       .q_head_stride = args.q.strides[1],
                       .q_row_stride = args.q.strides[2],
                       .k = at(args.k, b, h),
                       .k_row_stride = args.k.strides[2],
                       .v = at(args.v, b, h),
                       .v_row_stride = args.v.strides[2],
                       .out = at(args.out, b, h * p.group()),
                       .out_head_stride = args.out.strides[1],
                       .out_row_stride = args.out.strides[2],
                       .lse = args.lse ? args.lse + (b * p.q_heads + h * p.group()) * p.q_rows : nullptr,
                       .lse_head_stride = p.q_rows,
                       .row_begin = row,
                       .row_end = row + rows,
                       .kv_begin = 0,
                       .kv_end = p.kv_rows,
                       .partial_out = nullptr,
                       .partial_max = nullptr,
                       .partial_sum = nullptr,
                       .scratch = nullptr};
        // A fresh block of exactly the size asked for, full of NaN patterns.
        const auto attend = [&] {
          std::unique_ptr<std::byte[]> space(new std::byte[scratch_bytes + kWorkspaceAlignment]);
          std::memset(space.get(), 0xFF, scratch_bytes + kWorkspaceAlignment);
          task.scratch =
              static_cast<std::byte*>(Workspace::in(space.get(), scratch_bytes + kWorkspaceAlignment).data);
          kernel.attend(task);
        };
        if (parts == 1) {
          attend();
          continue;
        }
        for (int64_t part = 0; part < parts; ++part) {
          task.kv_begin = part * split.keys;
          task.kv_end = std::min(p.kv_rows, task.kv_begin + split.keys);
          task.partial_out = out.data() + part * rows * p.head_dim;
          task.partial_max = max.data() + part * rows;
          task.partial_sum = sum.data() + part * rows;
          attend();
        }
        task.partial_out = nullptr;
        for (int64_t i = 0; i < rows; ++i) {
          cpu::RowState state;
          for (int64_t part = 0; part < parts; ++part) {
            const float m = max[static_cast<std::size_t>(part * rows + i)];
            if (!(m <= state.max)) state.max = m;
          }
          std::vector<float> weighted(static_cast<std::size_t>(p.head_dim), 0.0F);
          for (int64_t part = 0; part < parts; ++part) {
            const auto from = static_cast<std::size_t>(part * rows + i);
            if (max[from] == -std::numeric_limits<float>::infinity()) continue;
            const float factor = std::exp2(max[from] - state.max);
            state.sum += factor * sum[from];
            for (std::size_t d = 0; d < weighted.size(); ++d)
              weighted[d] += factor * out[from * weighted.size() + d];
          }
          cpu::store_row<bf16>(task, row + i, weighted.data(), state);
        }
      }
    }
  }
}

}  // namespace flashmoe::test

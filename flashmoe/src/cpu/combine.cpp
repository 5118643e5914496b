// SPDX-License-Identifier: MIT
#include "cpu/combine.h"

#include <cmath>

#include "cpu/store_row.h"

namespace flashmoe::cpu {
namespace {

template <class T>
void combine(const Task& task, int64_t splits, float* out, const float* max, const float* sum) {
  const int64_t dim = task.problem->head_dim;
  const int64_t rows = task.row_end - task.row_begin;
  Task whole = task;
  whole.partial_out = nullptr;
  for (int64_t i = 0; i < rows; ++i) {
    RowState total;
    for (int64_t s = 0; s < splits; ++s) {
      const float m = max[s * rows + i];
      if (!(m <= total.max)) total.max = m;  // keeps NaN
    }
    float* row = out + i * dim;  // of the first split, which takes the sum
    for (int64_t s = 0; s < splits; ++s) {
      const float l = sum[s * rows + i];
      const float weight = l == 0 ? 0.0F : std::exp2(max[s * rows + i] - total.max);
      const float* from = out + (s * rows + i) * dim;
      total.sum += l * weight;
      if (s == 0) {
        for (int64_t d = 0; d < dim; ++d) row[d] *= weight;
      } else if (weight != 0) {
        for (int64_t d = 0; d < dim; ++d) row[d] += weight * from[d];
      }
    }
    store_row<T>(whole, task.row_begin + i, row, total);
  }
}

}  // namespace

void combine_splits(const Task& task, int64_t splits, float* out, const float* max, const float* sum) {
  switch (task.problem->dtype) {
    case DType::fp32:
      return combine<float>(task, splits, out, max, sum);
    case DType::fp16:
      return combine<fp16>(task, splits, out, max, sum);
    case DType::bf16:
      return combine<bf16>(task, splits, out, max, sum);
  }
}

}  // namespace flashmoe::cpu

// SPDX-License-Identifier: MIT
// The table of what rows see, on the model of a GPU: memory for it, and what has to stand there.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "dispatch/row_table.h"
#include "kernels/row_table.h"
#include "primitives/model/settings.h"
#include "problem/sequences.h"
#include "support/problem.h"

namespace flashmoe::test {

// For a problem with gradients, poisoned; the model knows it until it goes.
class TableMemory {
 public:
  explicit TableMemory(const ForwardProblem& problem)
      : space_(dispatch::row_table_bytes(problem, true) + kWorkspaceAlignment, std::byte{0xFF}),
        workspace_(Workspace::in(space_.data(), space_.size())) {
    model::settings() = {};
    workspace_.bytes = dispatch::row_table_bytes(problem, true);
    model::allow_memory("table", workspace_.data, workspace_.bytes, true);
  }
  ~TableMemory() { model::forget_memory(); }
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  const Workspace& workspace() const { return workspace_; }

 private:
  std::vector<std::byte> space_;
  Workspace workspace_;
};

// Row by row what the host finds.
inline void expect_rows(const Shape& shape, const kernels::Run* found, const RowRun* expected, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    ASSERT_EQ(found[i].begin, expected[i].begin) << describe(shape) << ", row " << i;
    ASSERT_EQ(found[i].end, expected[i].end) << describe(shape) << ", row " << i;
  }
}

// A key is seen by the rows that see it.
inline void expect_keys(const Shape& shape, const kernels::Run* of_keys, int64_t keys,
                        const kernels::Run* of_rows, int64_t rows) {
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(i >= of_keys[j].begin && i < of_keys[j].end, j >= of_rows[i].begin && j < of_rows[i].end)
          << describe(shape) << ", row " << i << ", key " << j;
    }
  }
}

}  // namespace flashmoe::test

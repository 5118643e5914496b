// SPDX-License-Identifier: MIT
// Compares times measured on an H200 (flashmoe/docs/results) with predictions of dispatch/predict.h and
// device/predict.h.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace dent::test {

struct Agreement {
  std::string set;     // "benchmarks", "gradients", or "second set": flashmoe/benches/gpu_unseen.cpp
  std::string kernel;  // the kernel that ran
  std::string title;
  double predicted_us = 0, low_us = 0, high_us = 0, measured_us = 0;
  bool chosen = true;  // by dispatch; otherwise requested explicitly

  // Factor between prediction and measurement: 1 is exact, 2 is twice or half.
  double factor() const { return std::max(predicted_us / measured_us, measured_us / predicted_us); }
  double error() const { return predicted_us / measured_us - 1; }
  bool in_range() const { return measured_us >= low_us && measured_us <= high_us; }
};

std::vector<Agreement> agreements(const std::filesystem::path& results);

double median_error(std::vector<double> errors);  // of absolute values; NaN if any is NaN

// A Markdown table of all rows, preceded by a summary per kernel.
std::string agreement_tables(const std::vector<Agreement>& rows);

// Rows for the kernels of flashmoe/benches/plain_kernels, as predicted by `dent predict kernel`.
std::vector<Agreement> plain_agreements(const std::filesystem::path& results);

// How many rows are within a factor of two, and which are not.
std::string plain_summary(const std::vector<Agreement>& rows);
std::string plain_table(const std::vector<Agreement>& rows);

}  // namespace dent::test

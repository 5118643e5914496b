// SPDX-License-Identifier: MIT
// What the output should be, and whether it is. The expected values come from the reference's process into
// ours, after the candidate has delivered; the candidate's process never sees them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "records/correctness.h"
#include "workers/worker_factory.h"

namespace dent {

// What a kernel delivered for one call: each output's bytes.
using Delivered = std::vector<std::vector<std::byte>>;
Delivered delivered(const Worker& worker, const Problem& problem);

struct Agreement {
  std::size_t elements = 0;       // that were compared
  std::size_t skipped = 0;        // not drawn for a spot check
  std::size_t bad = 0;            // beyond their bound; NaN is
  std::size_t unwritten = 0;      // still poisoned
  double max_error = 0;           // largest |got - expected| among finite ones
  double max_relative_error = 0;  // of |got - expected| / (|expected| + 1e-8), as public suites have it
  double mean_error = 0;
  double largest_share = 0;  // error / bound of the worst element
  double bound = 0;          // of that element
  std::string first_bad;     // "out[0, 3, 17, 5] is 0.31, expected 0.02 +- 0.001"
  std::optional<record::FirstBad> first_bad_record;
  bool zeros_would_pass = false;  // a kernel that writes zeros would agree as well
  bool ok() const { return bad == 0 && elements > 0; }
  void absorb(const Agreement& other);
};

class Oracle {
 public:
  // `logs`: for what the reference prints. Its process is started by the first question.
  Oracle(WorkerFactory& workers, std::filesystem::path logs) : workers_(workers), logs_(std::move(logs)) {}
  Agreement judge(const Problem& problem, const CallInputs& inputs, const Delivered& outputs);

 private:
  struct Expected {
    std::vector<double> values;
    std::vector<double> bounds;
  };
  std::vector<Expected> expect(const Problem& problem, const protocol::Offsets& offsets);

  WorkerFactory& workers_;
  std::filesystem::path logs_;
  std::unique_ptr<Worker> worker_;
  std::string shape_;  // that the worker is set to
};

}  // namespace dent

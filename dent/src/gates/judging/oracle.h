// SPDX-License-Identifier: MIT
// Compares outputs with expected values. Those come from the reference's process into ours after the
// candidate has delivered its outputs; the candidate's process never has access to them.
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

// The outputs of one call: the bytes of each.
using Delivered = std::vector<std::vector<std::byte>>;
Delivered delivered(const Worker& worker, const Problem& problem);

struct Agreement {
  std::size_t elements = 0;       // elements that were compared
  std::size_t skipped = 0;        // elements that the spot check did not draw
  std::size_t bad = 0;            // elements that exceed their bound; NaN does
  std::size_t unwritten = 0;      // elements that still hold poison
  double max_error = 0;           // largest finite |got - expected|
  double max_relative_error = 0;  // largest |got - expected| / (|expected| + 1e-8)
  double mean_error = 0;
  double largest_share = 0;  // largest error / bound of an element
  double bound = 0;          // bound of that element
  std::string first_bad;     // "out[0, 3, 17, 5] is 0.31, expected 0.02 +- 0.001"
  std::optional<record::FirstBad> first_bad_record;
  bool zeros_would_pass = false;  // a kernel that writes zeros would also pass
  bool ok() const { return bad == 0 && elements > 0; }
  void absorb(const Agreement& other);
};

class Oracle {
 public:
  // `logs`: folder for the reference's output. The first judge() starts its process.
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
  std::string shape_;  // shape that the worker is set to
};

}  // namespace dent

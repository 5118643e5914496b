// SPDX-License-Identifier: MIT
// Measures how much other programs use the processors while workers are timed.
#pragma once

#include <vector>

#include "measure/disturbance.h"
#include "system/processor_use.h"

namespace dent {

class Watch {
 public:
  // Starts now. `workers`: processes that are timed; their use and ours is not a disturbance.
  explicit Watch(std::vector<pid_t> workers);

  Disturbance so_far() const;

 private:
  std::vector<pid_t> workers_;
  ProcessorUse start_;
};

// The disturbance between two readings of the counters.
Disturbance between(const ProcessorUse& start, const ProcessorUse& end);

}  // namespace dent

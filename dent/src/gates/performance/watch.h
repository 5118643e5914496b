// SPDX-License-Identifier: MIT
// Looks out for other programs while workers are timed.
#pragma once

#include <vector>

#include "measure/disturbance.h"
#include "system/processor_use.h"

namespace dent {

class Watch {
 public:
  // From now on. `workers`: the processes that are timed; what they and we use is no disturbance.
  explicit Watch(std::vector<pid_t> workers);

  Disturbance so_far() const;

 private:
  std::vector<pid_t> workers_;
  ProcessorUse start_;
};

// What the counters say about the time between two moments.
Disturbance between(const ProcessorUse& start, const ProcessorUse& end);

}  // namespace dent

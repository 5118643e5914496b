// SPDX-License-Identifier: MIT
// From a number in a plan to a task, and the combining of what was split.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/origin.h"
#include "cpu/partials.h"
#include "cpu/plan.h"
#include "flashmoe/attention.h"

namespace flashmoe::cpu {

struct PlannedForward {
  ForwardProblem problem;
  Plan plan;
  Origin origin;
  Partials partials;
};

class ForwardTasks {
 public:
  // `scratch`: so many bytes for each thread.
  ForwardTasks(const ForwardArgs& args, std::byte* scratch, std::size_t scratch_bytes)
      : args_(args), scratch_(scratch), scratch_bytes_(scratch_bytes) {}

  void run(const PlannedForward& of, int64_t index, int slot) const;

 private:
  const ForwardArgs& args_;
  std::byte* scratch_;
  std::size_t scratch_bytes_;
};

}  // namespace flashmoe::cpu

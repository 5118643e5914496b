// SPDX-License-Identifier: MIT
// Which project is measured when, and where: each GPU has as many at a time as asked for, which take turns on
// it, and a kernel of the CPU has the machine to itself, since what runs beside it would be in its times.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "records/device_kind.h"

namespace dent {

struct Placed {
  std::size_t project;
  std::string gpu{};  // as CUDA_VISIBLE_DEVICES names it; empty: as the environment has it
};

// Threads for each of so many projects at a time, so that together they have no more than the machine has
// processors: what is computed beside a timed call must not take its host away.
int threads_of_each(int processors, int projects);

class Schedule {
 public:
  // `gpus`: that may be used at the same time; none: whatever the environment shows, one project at a time.
  explicit Schedule(std::vector<std::string> gpus, std::size_t per_gpu = 1);

  void add(std::size_t project, DeviceKind device);  // behind the others
  // The next that may begin now; it counts as begun. Nothing: wait for an end, or all have begun.
  std::optional<Placed> next();
  void ended(std::size_t project);
  bool over() const { return waiting_.empty() && running_.empty(); }

 private:
  struct Waiting {
    std::size_t project;
    DeviceKind device;
  };
  struct Running {
    std::size_t project;
    DeviceKind device;
    std::string gpu;
  };
  std::optional<std::string> free_gpu() const;  // the one with the least to do

  std::vector<std::string> gpus_;
  std::size_t per_gpu_;
  std::vector<Waiting> waiting_;
  std::vector<Running> running_;
};

}  // namespace dent

// SPDX-License-Identifier: MIT
// How long this process was kept from running by others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

namespace dent {

// From its making on: how long threads of this process were ready to run and had no processor, added up.
class OwnWaiting {
 public:
  OwnWaiting();

  // Nothing where the system does not count it, or where threads that have ended have taken their counts
  // along.
  std::optional<double> ns() const;

 private:
  struct Times {
    double ran_ns = 0, waited_ns = 0;
  };
  using Threads = std::map<pid_t, Times>;
  static Threads threads();

  Threads before_;
  double processors_ns_ = 0;  // of all threads, also those that have ended
  std::chrono::steady_clock::time_point began_;
};

}  // namespace dent

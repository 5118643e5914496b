// SPDX-License-Identifier: MIT
// How long other programs kept this process from running.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

namespace dent {

// Since construction: the total time in which threads of this process were ready but had no processor.
class OwnWaiting {
 public:
  OwnWaiting();

  // Nothing if the system does not count it, or if threads have ended and their counters are lost.
  std::optional<double> ns() const;

 private:
  struct Times {
    double ran_ns = 0, waited_ns = 0;
  };
  using Threads = std::map<pid_t, Times>;
  static Threads threads();

  Threads before_;
  double processors_ns_ = 0;  // of all threads, including ended ones
  std::chrono::steady_clock::time_point began_;
};

}  // namespace dent

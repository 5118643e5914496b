// SPDX-License-Identifier: MIT
// What a processor can do at most, measured.
#pragma once

#include <string>

#include "records/comparison.h"

namespace dent {

struct Peaks {
  std::string device;
  double gflops =
      0;  // GPU: dense 16-bit tensor cores, more than any other type reaches; CPU: fp32 multiply-adds
  double gbs = 0;  // memory
  PeakSource source = PeakSource::measured;
};

// All cores of this machine, measured within a fifth of a second. A busy machine measures lower.
Peaks cpu_peaks(const std::string& name);

}  // namespace dent

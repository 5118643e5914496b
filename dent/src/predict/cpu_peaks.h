// SPDX-License-Identifier: MIT
// Measures the peak rates of a processor.
#pragma once

#include <string>

#include "records/comparison.h"

namespace dent {

struct Peaks {
  std::string device;
  double gflops = 0;  // GPU: dense 16-bit products; CPU: fp32 multiply-adds
  double gbs = 0;     // memory bandwidth
  PeakSource source = PeakSource::measured;
};

// Measures all cores of this machine within a fifth of a second. A busy machine yields lower values.
Peaks cpu_peaks(const std::string& name);

}  // namespace dent

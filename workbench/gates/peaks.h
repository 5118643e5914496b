// SPDX-License-Identifier: MIT
// What a device can do at most: the roof over every kernel on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gates/gate.h"
#include "operators/problem.h"

namespace dent {

struct Peaks {
  std::string device;
  double gflops =
      0;  // GPU: dense 16-bit tensor cores, more than any other type reaches; CPU: fp32 multiply-adds
  double gbs = 0;      // memory
  std::string source;  // "table", "measured"
};

// From the table of known GPUs, by a part of the name: "NVIDIA H200" is an H200.
std::optional<Peaks> gpu_peaks(std::string_view name);

// All cores of this machine, measured within a fifth of a second. A busy machine measures lower.
Peaks cpu_peaks(const std::string& name);

// A result of the performance gate that no kernel can have on this GPU becomes a cheat: more operations than
// its units do, or, where caches are flushed, inputs read faster than memory delivers. `peaks` must be upper
// bounds.
void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed);

}  // namespace dent

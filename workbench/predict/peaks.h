// SPDX-License-Identifier: MIT
// What a device can do at most: the roof over every kernel on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "predict/cpu_peaks.h"
#include "gates/gate.h"
#include "operators/problem.h"

namespace dent {

// From the table of known GPUs, by a part of the name: "NVIDIA H200" is an H200.
std::optional<Peaks> gpu_peaks(std::string_view name);

// A result of the performance gate that no kernel can have on this GPU becomes a cheat: more operations than
// its units do, or, where caches are flushed, inputs read faster than memory delivers. `peaks` must be upper
// bounds.
void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed);

}  // namespace dent

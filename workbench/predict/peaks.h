// SPDX-License-Identifier: MIT
// What a device can do at most: the roof over every kernel on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "predict/cpu_peaks.h"

namespace dent {

// From the table of known GPUs, by a part of the name: "NVIDIA H200" is an H200.
std::optional<Peaks> gpu_peaks(std::string_view name);

}  // namespace dent

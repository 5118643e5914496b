// SPDX-License-Identifier: MIT
// What a device can do at most: the roof over every kernel on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "predict/cpu_peaks.h"
#include "records/comparison.h"
#include "records/device_kind.h"

namespace dent {

// From the table of known GPUs, by a part of the name: "NVIDIA H200" is an H200.
std::optional<Peaks> gpu_peaks(std::string_view name);

// Of that device, where they are known: a GPU's from the table, a CPU's measured when first asked for.
std::optional<Peaks> device_peaks(DeviceKind kind, const std::string& name);

record::Roofline roofline_of(const Peaks& peaks);

}  // namespace dent

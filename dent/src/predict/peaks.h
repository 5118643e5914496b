// SPDX-License-Identifier: MIT
// Peak rates of a device, which limit every kernel on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "predict/cpu_peaks.h"
#include "records/comparison.h"
#include "records/device_kind.h"

namespace dent {

// From the table of known GPUs, by part of the name: "NVIDIA H200" matches H200.
std::optional<Peaks> gpu_peaks(std::string_view name);

// Peaks of that device, if known: a GPU's from the table, a CPU's measured on first use.
std::optional<Peaks> device_peaks(DeviceKind kind, const std::string& name);

record::Roofline roofline_of(const Peaks& peaks);

}  // namespace dent

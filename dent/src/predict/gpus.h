// SPDX-License-Identifier: MIT
// The GPUs that can be asked for: those of the table, and the one at hand; with what was measured on this
// machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/spec.h"
#include "predict/measurement.h"

namespace dent {

// Where measurements are kept for later: $XDG_DATA_HOME/dent/devices, or ~/.local/share/dent/devices.
std::filesystem::path measurements_folder();

// What `dent devices --measure` stored for a GPU with this name of the driver's; nothing when there is none.
std::optional<Measurement> stored_measurement(const std::string& driver_name);
std::filesystem::path store_measurement(const Measurement& measurement);

// What the driver calls the GPU of this machine; "" without one.
std::string gpu_name_here();

// By name from the table, or "here". Figures that were measured on this machine take the place of estimates.
// Throws Error.
flashmoe::device::Spec gpu_called(const std::string& name);

// Every GPU of the table, measured figures included.
std::vector<flashmoe::device::Spec> all_gpus();

// A Spec from a measurement alone: for GPUs that are in no table.
flashmoe::device::Spec spec_from(const Measurement& measurement);

}  // namespace dent

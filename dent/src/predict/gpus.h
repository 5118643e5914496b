// SPDX-License-Identifier: MIT
// GPUs that can be selected: those of the table and this machine's own, including measurements made on this
// machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/spec.h"
#include "predict/measurement.h"

namespace dent {

// Folder of stored measurements: $XDG_DATA_HOME/dent/devices, or ~/.local/share/dent/devices.
std::filesystem::path measurements_folder();

// The stored measurement of the GPU with this driver name; nothing if there is none.
std::optional<Measurement> stored_measurement(const std::string& driver_name);
std::filesystem::path store_measurement(const Measurement& measurement);

// The driver's name of this machine's GPU; "" without one.
std::string gpu_name_here();

// A GPU by its name in the table, or "here" for this machine's. Measured figures replace estimates. Throws
// Error if it is unknown.
flashmoe::device::Spec gpu_called(const std::string& name);

// Every GPU of the table, including measured figures.
std::vector<flashmoe::device::Spec> all_gpus();

// A Spec made from a measurement only, for GPUs outside the table.
flashmoe::device::Spec spec_from(const Measurement& measurement);

}  // namespace dent

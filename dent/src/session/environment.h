// SPDX-License-Identifier: MIT
// What machine this is, as far as a number measured on it depends on it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "records/session.h"

namespace dent {

// Reads /proc and /sys and asks git and
// nvidia-smi, each for two seconds at most; leaves out what it can't find. `project`: whose git state to
// record.
record::Environment environment_snapshot(const std::filesystem::path& project);

// The processor's name, or the first GPU's for a kernel that runs there.
std::string device_name(const record::Environment& environment, DeviceKind device);

// The GPUs that kernels may run on, as CUDA_VISIBLE_DEVICES names them.
std::vector<std::string> visible_gpus();

}  // namespace dent

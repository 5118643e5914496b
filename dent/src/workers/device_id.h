// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "records/device_kind.h"

namespace dent {

// The device that such a kernel runs on, as one name on this machine: a GPU's UUID, "cpu <host>". GPUs that
// can't be told apart are one.
std::string device_id(DeviceKind device);

}  // namespace dent

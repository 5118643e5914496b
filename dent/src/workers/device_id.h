// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "records/device_kind.h"

namespace dent {

// A name that identifies the device on this machine: a GPU's UUID, or "cpu <host>". GPUs that can't be told
// apart share one name.
std::string device_id(DeviceKind device);

}  // namespace dent

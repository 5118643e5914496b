// SPDX-License-Identifier: MIT
#pragma once

#include "base/words.h"

namespace dent {

enum class DeviceKind { cpu, cuda };
inline constexpr Word<DeviceKind> kDeviceKindWords[] = {{DeviceKind::cpu, "cpu"}, {DeviceKind::cuda, "cuda"}};
constexpr std::span<const Word<DeviceKind>> words(DeviceKind) { return kDeviceKindWords; }

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

namespace dent {

inline constexpr const char* kDentVersion = DENT_VERSION;

}  // namespace dent

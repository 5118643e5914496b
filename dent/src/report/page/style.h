// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace dent {

extern const std::string_view kPageStyle;  // page/style.css, embedded by the build

}  // namespace dent

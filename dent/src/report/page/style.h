// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace dent {

extern const std::string_view kPageStyle;  // page/style.css, which the build puts into the program

}  // namespace dent

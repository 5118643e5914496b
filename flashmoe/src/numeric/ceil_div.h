// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace flashmoe {

inline constexpr int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }

}  // namespace flashmoe

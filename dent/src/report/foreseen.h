// SPDX-License-Identifier: MIT
// What the build gate foresaw for each shape, beside what was measured.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/session_view.h"

namespace dent {

using ForeseenRow = std::array<std::string, 6>;
inline const ForeseenRow kForeseenHead{"shape",    "launch",   "most of the time",
                                       "expected", "measured", "would help"};

// One row a prediction, in the order of the head; none where nothing was foreseen.
std::vector<ForeseenRow> foreseen_rows(const SessionView& session);

}  // namespace dent

// SPDX-License-Identifier: MIT
// The build gate's prediction for each shape, next to the measured time.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/session_view.h"

namespace dent {

using ForeseenRow = std::array<std::string, 6>;
inline const ForeseenRow kForeseenHead{"shape",    "launch",   "most of the time",
                                       "expected", "measured", "would help"};

// One row per prediction, in the order of kForeseenHead.
std::vector<ForeseenRow> foreseen_rows(const SessionView& session);

}  // namespace dent

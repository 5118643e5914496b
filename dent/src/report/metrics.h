// SPDX-License-Identifier: MIT
// A session's times in the formats of services that track them over commits.
#pragma once

#include <string>

#include "report/session_view.h"

namespace dent {

// Bencher Metric Format: latency in nanoseconds and speed-up of each shape, with intervals.
std::string bencher_metrics(const SessionView& session);
// For github-action-benchmark with tool customSmallerIsBetter: a list of each shape's time.
std::string action_benchmark(const SessionView& session);

}  // namespace dent

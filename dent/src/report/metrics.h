// SPDX-License-Identifier: MIT
// A session's times in the formats of services that keep them over commits.
#pragma once

#include <string>

#include "report/session_view.h"

namespace dent {

// Bencher Metric Format: for each shape latency in nanoseconds and speedup, each with its interval.
std::string bencher_metrics(const SessionView& session);
// github-action-benchmark, tool customSmallerIsBetter: a list with the time of each shape.
std::string action_benchmark(const SessionView& session);

}  // namespace dent

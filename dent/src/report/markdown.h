// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "report/history.h"
#include "report/session_view.h"

namespace dent {

// report.md: verdict, speed, gates and plan, correctness, environment, history.
std::string markdown_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

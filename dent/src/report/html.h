// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/history.h"
#include "report/html_page.h"
#include "report/session_view.h"

namespace dent {

// The parts of a session's page in their order. report.html has all of them, and dent watch shows them while
// they change. `running`: a dent works on it, so what has no end yet is not interrupted.
std::vector<PagePart> report_parts(const SessionView& session, std::span<const HistoryEntry> history,
                                   bool running = false);

// report.html: one file that needs nothing else, not even JavaScript.
std::string html_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/history.h"
#include "report/html_page.h"
#include "report/session_view.h"

namespace dent {

// Parts of a session's page, in order. report.html holds all of them; dent watch shows and updates them.
// `running`: a dent is working on the session, so steps without an end are not interrupted.
std::vector<PagePart> report_parts(const SessionView& session, std::span<const HistoryEntry> history,
                                   bool running = false);

// report.html: a single self-contained file without JavaScript.
std::string html_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

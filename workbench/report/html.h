// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "report/history.h"
#include "report/session_view.h"

namespace dent {

// report.html: one file that needs nothing else, not even JavaScript.
std::string html_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "report/history.h"
#include "report/session_view.h"

namespace dent {

// report.json: all of the session but the raw samples, which stay in its ledger. Keys are in
// docs/dent-records.md.
nlohmann::json json_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "records/json_object.h"
#include "report/history.h"
#include "report/session_view.h"

namespace dent {

// Contains "usd" if a price is known.
JsonObject cost_json(const Cost& cost, const Money& money);

// report.json: the whole session except raw samples, which stay in its ledger. dent/docs/dent-records.md
// lists the keys.
JsonObject json_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "records/json_object.h"
#include "report/history.h"
#include "report/session_view.h"

namespace dent {

// With "usd" where something has a price.
JsonObject cost_json(const Cost& cost, const Money& money);

// report.json: all of the session but the raw samples, which stay in its ledger. Keys are in
// dent/docs/dent-records.md.
JsonObject json_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "records/json.h"
#include "report/history.h"
#include "report/session_view.h"

namespace dent {

// A record as part of a larger document.
template <class T>
nlohmann::json as_json(const T& record) {
  return require_json(to_json_text(record));
}

// With "usd" where something has a price.
nlohmann::json cost_json(const Cost& cost, const Money& money);

// report.json: all of the session but the raw samples, which stay in its ledger. Keys are in
// docs/dent-records.md.
nlohmann::json json_report(const SessionView& session, std::span<const HistoryEntry> history);

}  // namespace dent

// SPDX-License-Identifier: MIT
// Results of earlier sessions of the same project.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accounting/cost.h"
#include "ledger/session_store.h"
#include "measure/ratio.h"
#include "records/verdict.h"

namespace dent {

struct HistoryEntry {
  std::string id, started, candidate, device, commit;
  Verdict verdict = Verdict::interrupted;
  std::optional<Ratio> mean{};
  Cost cost{};
  Money money{};
  std::string unreadable{};  // why the ledger can't be read; all other members are empty then
};

// Up to `most` sessions before `id`, newest first. An unreadable session is listed as such.
std::vector<HistoryEntry> history_before(const SessionStore& store, const std::string& id,
                                         std::size_t most = 20);

}  // namespace dent

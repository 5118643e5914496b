// SPDX-License-Identifier: MIT
// What earlier sessions of the same project found.
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
  std::string unreadable{};  // why, for a session whose ledger can't be read; nothing else holds then
};

// Sessions before `id`, newest first, at most `most`. One that can't be read is listed as such and stops
// nobody.
std::vector<HistoryEntry> history_before(const SessionStore& store, const std::string& id,
                                         std::size_t most = 20);

}  // namespace dent

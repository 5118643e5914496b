// SPDX-License-Identifier: MIT
// What became of a pattern where it was tried: from ledgers into the library.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/record.h"
#include "ledger/session_store.h"
#include "patterns/pattern.h"

namespace dent {

// One application, as the record of kind "pattern" keeps it.
struct Application {
  std::string pattern;
  std::string bottleneck{};  // that it was tried against
  std::string outcome;  // "kept", "dropped" (measured, not enough), "failed" (refused, did not build, wrong)
  std::optional<double> gain{};  // speed-up over the kernel before, where it was measured
};
nlohmann::json to_json(const Application& application);
Application application_of(const nlohmann::json& record);

// Counts the applications in a ledger.
void learn(std::span<Pattern> patterns, std::span<const Record> records);
// All sessions of a project; a ledger that can't be read is passed over. Call once.
void learn(std::span<Pattern> patterns, const SessionStore& store);
// With the medians filled in. For callers that have applications from elsewhere.
void learn(std::span<Pattern> patterns, std::span<const Application> applications);

}  // namespace dent

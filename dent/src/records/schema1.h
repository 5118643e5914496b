// SPDX-License-Identifier: MIT
// Converts lines of schema 1, which earlier versions of dent wrote, to today's form. Only this file knows
// their differences: causes as numbers or exit codes, kinds with a prefix, trials that hold records, and
// decisions in prose.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dent {

// A record in today's form, still as JSON text.
struct TodaysRecord {
  std::string kind, step;
  std::string data;  // JSON text
};

// Returns several records for a trial and one for any other kind. `step`: the step whose begin record is
// open, or "".
std::vector<TodaysRecord> from_schema1(const std::string& kind, const nlohmann::json& data);

}  // namespace dent

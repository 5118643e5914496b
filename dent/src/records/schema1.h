// SPDX-License-Identifier: MIT
// Lines that earlier versions of dent wrote (schema 1), in today's form. All their oddities are here: causes
// as exit codes or as numbers, kinds with a prefix, trials that hold records, prose that decided.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dent {

// A record of today, still as JSON.
struct TodaysRecord {
  std::string kind, step;
  std::string data;  // JSON text
};

// Several for a trial, one for any other kind. `step`: of the begin record that is open, "" where none is.
std::vector<TodaysRecord> from_schema1(const std::string& kind, const nlohmann::json& data);

}  // namespace dent

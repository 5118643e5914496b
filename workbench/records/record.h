// SPDX-License-Identifier: MIT
// One line of a ledger. What the kinds hold is in docs/dent-records.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dent {

inline constexpr int kRecordSchema = 1;

struct Record {
  std::int64_t number = 0;  // from 1, without gaps
  std::string time;         // UTC, 2026-03-31T14:05:09.123Z
  std::string kind;
  nlohmann::json data;
};

// One line without its line end. NaN and infinity have no place in JSON: throws Error naming where one
// stands.
std::string to_line(const Record& record);

// Throws Error: not JSON, a field missing or of another type, or a schema newer than this program knows.
Record parse_record(std::string_view line);

std::string utc_now();

}  // namespace dent

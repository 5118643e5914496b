// SPDX-License-Identifier: MIT
// Reads and writes one line of a ledger:
//
//   {"schema":2,"n":7,"time":"...","kind":"gate","step":"correctness/tiny","data":{...},"chain":"9f2c..."}
//
// `chain` is the SHA-256 of the previous line's chain and this line's bytes up to ,"chain". So a line that
// was changed, removed, swapped or inserted later breaks the chain.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "records/any_record.h"

namespace dent {

inline constexpr int kRecordSchema = 2;

// The line without its line end. `chain` is the previous line's, and becomes this line's.
std::string to_line(const Record& record, std::string& chain);

struct ParsedLine {
  int schema = kRecordSchema;
  std::int64_t number = 0;
  std::vector<Record> records;  // one record; a line of schema 1 may hold several
  bool chain_fits = true;       // whether the chain continues the given one; lines of schema 1 have none
};
// `chain` is the previous line's, and becomes this line's. Throws Error if the text is no JSON, a field is
// missing or has another type, or the schema is newer than this program.
ParsedLine parse_line(std::string_view line, std::string& chain);

std::string utc_now();
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace dent

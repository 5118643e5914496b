// SPDX-License-Identifier: MIT
// One line of a ledger:
//
//   {"schema":2,"n":7,"time":"...","kind":"gate","step":"correctness/tiny","data":{...},"chain":"9f2c..."}
//
// The chain is SHA-256 over the chain of the line before and this line's own bytes up to ,"chain": a line
// that was changed, dropped, swapped or added later does not fit.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "records/any_record.h"

namespace dent {

inline constexpr int kRecordSchema = 2;

// Without its line end. `chain`: of the line before; becomes this line's.
std::string to_line(const Record& record, std::string& chain);

struct ParsedLine {
  int schema = kRecordSchema;
  std::int64_t number = 0;
  std::vector<Record> records;  // one; a line of schema 1 may have held several
  bool chain_fits = true;       // with the chain that was given; lines of schema 1 have none
};
// `chain`: of the line before; becomes this line's. Throws Error: not JSON, a field missing or of another
// type, or a schema newer than this program knows.
ParsedLine parse_line(std::string_view line, std::string& chain);

std::string utc_now();
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace dent

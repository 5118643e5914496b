// SPDX-License-Identifier: MIT
// Parses the output of `ncu --csv --page raw`: lines of messages, a header, a row of units, and one row per
// launch; numbers are quoted and contain commas.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "records/quantities.h"

namespace dent {

struct ProfiledLaunch {
  std::string kernel;  // "void planted_two_ctas(const float *, float *)"
  std::string device;  // name that ncu gives; may be empty
  int arch = 0;        // compute capability, such as 90; 0: not given
  Quantities metrics;  // by ncu's names; times in ns, memory in bytes, shares in per cent
};

struct NcuReport {
  std::vector<ProfiledLaunch> launches;
  std::vector<std::string> chatter;  // messages such as "==WARNING== ..."
};

// Throws Error if a row does not match the header.
NcuReport parse_ncu_csv(std::string_view text);

// Splits one line of CSV.
std::vector<std::string> split_csv(std::string_view line);

// "5,401,056" -> 5401056; "n/a", "" and words are missing, "nan" is not a number. `unit` scales the value: ms
// to ns, Kbyte to byte.
Reading parse_ncu_value(std::string_view text, std::string_view unit);

}  // namespace dent

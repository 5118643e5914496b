// SPDX-License-Identifier: MIT
// What Nsight Compute prints: `ncu --csv --page raw`. A header, a row of units, a row for each launch; lines
// of its own chatter in front; numbers with commas inside quotes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "records/quantities.h"

namespace dent {

struct ProfiledLaunch {
  std::string kernel;  // "void planted_two_ctas(const float *, float *)"
  std::string device;  // as ncu calls it; may be empty
  int arch = 0;        // compute capability, 90; 0: not said
  Quantities metrics;  // by ncu's names; times in ns, memory in bytes, shares in per cent
};

struct NcuReport {
  std::vector<ProfiledLaunch> launches;
  std::vector<std::string> chatter;  // "==WARNING== ..."
};

// Throws Error when a row does not fit its header.
NcuReport parse_ncu_csv(std::string_view text);

// One line of CSV.
std::vector<std::string> split_csv(std::string_view line);

// "5,401,056" -> 5401056; "n/a", "" and words are missing, "nan" is not a number. `unit` scales: ms to ns,
// Kbyte to byte.
Reading parse_ncu_value(std::string_view text, std::string_view unit);

}  // namespace dent

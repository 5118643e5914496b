// SPDX-License-Identifier: MIT
// Which variant of a kernel runs, and the values of its tunables.
#pragma once

#include <map>
#include <string>

#include "records/fields.h"

namespace dent {

struct Choice {
  std::string variant;                          // empty: [kernel] itself
  std::map<std::string, std::string> tunables;  // only those that differ from their start values
  bool operator==(const Choice&) const = default;
};
void fields(Fields& f, Choice& choice);

}  // namespace dent

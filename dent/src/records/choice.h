// SPDX-License-Identifier: MIT
// Which rung of a ladder, and what its tunables are set to.
#pragma once

#include <map>
#include <string>

#include "records/fields.h"

namespace dent {

struct Choice {
  std::string variant;                          // empty: [kernel] itself
  std::map<std::string, std::string> tunables;  // those that differ from their start
  bool operator==(const Choice&) const = default;
};
void fields(Fields& f, Choice& choice);

}  // namespace dent

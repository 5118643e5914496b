// SPDX-License-Identifier: MIT
// The kinds of records and their fields as dent/docs/dent-records.md lists them.
#pragma once

#include <string>

namespace dent {

// A section for each kind: its fields by name, type, whether they are always there, and what they mean.
std::string kinds_in_markdown();

}  // namespace dent

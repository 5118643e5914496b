// SPDX-License-Identifier: MIT
// Lists the kinds of records and their fields, for dent/docs/dent-records.md.
#pragma once

#include <string>

namespace dent {

// A section for each kind: name, type, presence and meaning of each field.
std::string kinds_in_markdown();

}  // namespace dent

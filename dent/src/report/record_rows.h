// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "records/json.h"

namespace dent {

using Rows = std::vector<std::pair<std::string, std::string>>;

// A record as rows of a table, such as ("cpu model", "...") and ("gpus 0 name", "..."), in the order of its
// fields.
Rows rows_of(const Pass& pass);

template <class T>
Rows record_rows(const T& record) {
  return rows_of([&record](Fields& f) { fields(f, const_cast<T&>(record)); });  // the record is not changed
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "records/json.h"

namespace dent {

using Rows = std::vector<std::pair<std::string, std::string>>;

// A record as lines of a table: ("cpu model", "..."), ("gpus 0 name", "..."), in the order of its fields.
Rows rows_of(const Pass& pass);

template <class T>
Rows record_rows(const T& record) {
  return rows_of([&record](Fields& f) { fields(f, const_cast<T&>(record)); });  // nothing is changed
}

}  // namespace dent

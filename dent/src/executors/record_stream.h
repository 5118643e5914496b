// SPDX-License-Identifier: MIT
// Lines of a job's ledger as records, checked as read_ledger() checks them: numbers without a gap, and the
// chain. A stream may begin anew with its first line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/any_record.h"

namespace dent {

class RecordStream {
 public:
  // Throws Error for a line that is broken, out of number, or does not fit the chain.
  Record take(std::string_view line);

 private:
  std::int64_t number_ = 0;
  std::string chain_;
};

}  // namespace dent

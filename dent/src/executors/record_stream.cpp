// SPDX-License-Identifier: MIT
#include "executors/record_stream.h"

#include <fmt/format.h>

#include "base/error.h"
#include "records/line.h"

namespace dent {

Record RecordStream::take(std::string_view line) {
  std::string chain = chain_;
  ParsedLine parsed = parse_line(line, chain);
  if (parsed.number == 1 && number_ > 0) {  // from the beginning again
    *this = {};
    return take(line);
  }
  if (parsed.number != number_ + 1 || parsed.records.size() != 1) {
    throw Error(ErrorCode::environment,
                fmt::format("record {} of the job came behind record {}", parsed.number, number_));
  }
  if (!parsed.chain_fits) {
    throw Error(ErrorCode::environment,
                fmt::format("record {} of the job does not fit the chain of its ledger", parsed.number),
                "only dent writes there: look at what the kernel or its build does to files");
  }
  number_ = parsed.number;
  chain_ = std::move(chain);
  return std::move(parsed.records.front());
}

}  // namespace dent

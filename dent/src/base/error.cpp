// SPDX-License-Identifier: MIT
#include "base/error.h"

#include "errors/three_lines.h"

namespace dent {

Error::Error(ErrorCode code, const std::string& what_happened, const std::string& remedy,
             std::source_location where)
    : std::runtime_error(flashmoe::three_lines(what_happened, remedy, where, {"/dent/src/"})),
      code_(code),
      one_line_(remedy.empty() ? what_happened : what_happened + "; " + remedy) {}

std::string in_one_line(const std::exception& problem) {
  const auto* ours = dynamic_cast<const Error*>(&problem);
  return ours != nullptr ? ours->in_one_line() : problem.what();
}

}  // namespace dent

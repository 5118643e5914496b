// SPDX-License-Identifier: MIT
// The one exception of the workbench: what went wrong, where, and what to do about it. A candidate that fails
// is a result and not an Error.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace dent {

enum class ErrorCode {
  invalid,      // an argument, a manifest or a file that can't be right
  environment,  // the machine, the disk or the operating system refuses
  busy,         // another dent works in this project
  internal,     // our own fault
};

class Error : public std::runtime_error {
 public:
  // `what_happened` names the value that was given and the values that are accepted; `remedy` may be empty.
  Error(ErrorCode code, const std::string& what_happened, const std::string& remedy = {},
        std::source_location where = std::source_location::current());

  ErrorCode code() const noexcept { return code_; }
  // What happened and what to do, without the place: for a table or a reason.
  const std::string& in_one_line() const noexcept { return one_line_; }

 private:
  ErrorCode code_;
  std::string one_line_;
};

std::string in_one_line(const std::exception& problem);  // the same for whatever was caught

}  // namespace dent

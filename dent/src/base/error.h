// SPDX-License-Identifier: MIT
// The only exception type of dent: what went wrong, where, and what to do about it. A candidate that fails is
// a result, not an Error.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace dent {

enum class ErrorCode {
  invalid,      // an invalid argument, manifest or file
  environment,  // the machine, the disk or the operating system refuses something
  busy,         // another dent is working in this project
  internal,     // a bug in dent
};

class Error : public std::runtime_error {
 public:
  // `what_happened` names the value that was given and the values that are accepted; `remedy` may be empty.
  Error(ErrorCode code, const std::string& what_happened, const std::string& remedy = {},
        std::source_location where = std::source_location::current());

  ErrorCode code() const noexcept { return code_; }
  // What happened and what to do, without the source position: for a table or a record.
  const std::string& in_one_line() const noexcept { return one_line_; }

 private:
  ErrorCode code_;
  std::string one_line_;
};

std::string in_one_line(const std::exception& problem);  // what() of other exceptions

}  // namespace dent

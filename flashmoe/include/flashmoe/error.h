// SPDX-License-Identifier: MIT
// The one exception of the library: a code, what went wrong, where, and what to do about it.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include "flashmoe/export.h"

namespace flashmoe {

enum class ErrorCode {
  invalid_argument = 1,  // the caller's arguments can't be right on any backend
  unsupported = 2,       // a valid problem that this backend or this build can't run
  workspace = 3,         // the workspace is missing, too small or misaligned
  backend = 4,           // the device or the operating system refused a call
  cancelled = 6,         // Execution::cancel was set while the call ran
};

class FLASHMOE_API Error : public std::runtime_error {
 public:
  // `what_happened` names the value that was given and the values that are accepted; `remedy` may be empty.
  Error(ErrorCode code, const std::string& what_happened, const std::string& remedy = {},
        std::source_location where = std::source_location::current());

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace flashmoe

// SPDX-License-Identifier: MIT
#include "error.h"

#include "errors/three_lines.h"

namespace dent {

Error::Error(ErrorCode code, const std::string& what_happened, const std::string& remedy,
             std::source_location where)
    : std::runtime_error(flashmoe::three_lines(what_happened, remedy, where, {"/workbench/"})), code_(code) {}

}  // namespace dent

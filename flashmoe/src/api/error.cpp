// SPDX-License-Identifier: MIT
#include "flashmoe/error.h"

#include "errors/three_lines.h"

namespace flashmoe {

Error::Error(ErrorCode code, const std::string& what_happened, const std::string& remedy,
             std::source_location where)
    : std::runtime_error(three_lines(what_happened, remedy, where,
                                     {"/flashmoe/src/", "/flashmoe/include/", "/flashmoe/python/"})),
      code_(code) {}

}  // namespace flashmoe

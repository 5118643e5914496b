// SPDX-License-Identifier: MIT
#include "cpu/cancel.h"

#include <string>

#include "flashmoe/error.h"

namespace flashmoe::cpu {

void check_not_cancelled(const char* call, const int32_t* flag) {
  if (is_cancelled(flag)) {
    throw Error(
        ErrorCode::cancelled,
        std::string(call) + ": execution.cancel was set; what the call writes is in part not written");
  }
}

}  // namespace flashmoe::cpu

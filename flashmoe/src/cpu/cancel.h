// SPDX-License-Identifier: MIT
// Whether the caller has asked a call to end: Execution::cancel. Kernels ask before each block of keys.
#pragma once

#include <cstdint>

namespace flashmoe::cpu {

inline bool is_cancelled(const int32_t* flag) {
  return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

// Throws where `flag` is set. `call`: what ends, for the message.
void check_not_cancelled(const char* call, const int32_t* flag);

}  // namespace flashmoe::cpu

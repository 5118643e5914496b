// SPDX-License-Identifier: MIT
#include "measure/measuring_clock.h"

#include <chrono>

namespace dent {

double measuring_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace dent

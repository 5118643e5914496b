// SPDX-License-Identifier: MIT
#include "workers/device_turns.h"

#include <chrono>

#include "base/stopwatch.h"
#include "workers/device_id.h"

namespace dent {

void DeviceTurns::begin() {
  if (depth_ == 0) {
    if (!lock_) lock_.emplace(device_id(device_));
    const auto start = std::chrono::steady_clock::now();
    held_ = lock_->hold(whose_, [this](const std::string& who) {
      if (tell_) tell_(who);
    });
    add_waited_for_turn(seconds_since(start));
  }
  ++depth_;
}

void DeviceTurns::end() noexcept {
  if (--depth_ == 0) held_ = {};
}

}  // namespace dent

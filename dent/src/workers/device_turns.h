// SPDX-License-Identifier: MIT
// Several sessions on one device take turns: whoever runs a kernel, or times some, has it alone. What they do
// between their turns (loading, compiling, computing what is right on the CPU) goes on side by side.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "records/device_kind.h"
#include "system/device_lock.h"

namespace dent {

class DeviceTurns {
 public:
  DeviceTurns(DeviceKind device, std::string whose) : device_(device), whose_(std::move(whose)) {}
  DeviceTurns(const DeviceTurns&) = delete;
  DeviceTurns& operator=(const DeviceTurns&) = delete;

  // For as long as it lives. One within another is part of that one.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(DeviceTurns& of) : of_(&of) { of.begin(); }
    Turn(Turn&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(of_, other.of_);
      return *this;
    }
    ~Turn() {
      if (of_ != nullptr) of_->end();
    }

   private:
    DeviceTurns* of_ = nullptr;
  };

  Turn take() { return Turn(*this); }
  // On a GPU. Kernels of the CPU have no turns of their own: what else runs there is seen while they are
  // timed.
  Turn take_gpu() { return device_ == DeviceKind::cuda ? take() : Turn(); }

  // Who is told that it has to wait, and for whom.
  void on_wait(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }

 private:
  void begin();
  void end() noexcept;

  DeviceKind device_;
  std::string whose_;
  std::function<void(const std::string&)> tell_;
  std::optional<DeviceLock> lock_;  // once it was asked for
  DeviceLock::Held held_;
  int depth_ = 0;
};

}  // namespace dent

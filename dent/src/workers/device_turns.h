// SPDX-License-Identifier: MIT
// Gives several sessions on one device exclusive access in turn, while they run or time a kernel. Other work
// (loading, compiling, computing expected values on the CPU) runs in parallel.
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

  // Holds the device until it is destroyed. A nested turn is part of the outer one.
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
  // Takes the device if it is a GPU. CPU kernels don't take turns: other programs on the processors are
  // detected while kernels are timed.
  Turn take_gpu() { return device_ == DeviceKind::cuda ? take() : Turn(); }

  // Sets the function that is told about waiting, with the current holder's text.
  void on_wait(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }

 private:
  void begin();
  void end() noexcept;

  DeviceKind device_;
  std::string whose_;
  std::function<void(const std::string&)> tell_;
  std::optional<DeviceLock> lock_;  // created by the first take()
  DeviceLock::Held held_;
  int depth_ = 0;
};

}  // namespace dent

// SPDX-License-Identifier: MIT
// Lets several processes of one user measure on a device one at a time. The operating system holds the lock,
// and releases it when the holder ends, even if it is killed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "system/file_descriptor.h"

namespace dent {

class DeviceLock {
 public:
  // `device`: a name of the device on this machine, such as a GPU's UUID. `folder`: where all processes look
  // for the lock file.
  explicit DeviceLock(const std::string& device, const std::filesystem::path& folder = "/tmp");

  // Holds the lock until it is destroyed.
  class Held {
   public:
    Held() = default;
    Held(Held&&) = default;
    Held& operator=(Held&& other) noexcept;
    ~Held() { let_go(); }

   private:
    friend DeviceLock;
    Held(FileDescriptor descriptor, std::filesystem::path file)
        : descriptor_(std::move(descriptor)), file_(std::move(file)) {}
    void let_go() noexcept;
    FileDescriptor descriptor_;
    std::filesystem::path file_;
  };

  // Waits for the lock. `whose`: text that processes waiting for this holder are shown. `waits` is called
  // once, with the current holder's text, if the lock is taken.
  Held hold(const std::string& whose, const std::function<void(const std::string& who)>& waits) const;

 private:
  std::filesystem::path file_;
};

}  // namespace dent

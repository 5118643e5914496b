// SPDX-License-Identifier: MIT
// A device that several processes of one user measure on, one at a time. The operating system holds the lock
// for whoever has it and lets go of it when he dies, however he dies.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "system/file_descriptor.h"

namespace dent {

class DeviceLock {
 public:
  // `device`: its name on this machine, the UUID of a GPU for example. `folder`: where all look for it; the
  // machine's temporary folder unless it is given.
  explicit DeviceLock(const std::string& device, const std::filesystem::path& folder = "/tmp");

  // For as long as it lives.
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

  // `whose`: what the others are told while they wait. `waits` is called once when somebody else has it, with
  // what that one has said.
  Held hold(const std::string& whose, const std::function<void(const std::string& who)>& waits) const;

 private:
  std::filesystem::path file_;
};

}  // namespace dent

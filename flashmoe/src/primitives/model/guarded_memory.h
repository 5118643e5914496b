// SPDX-License-Identifier: MIT
// Shared memory of one block: aligned as on a GPU, filled with NaN before the first write, and with a guard
// area on both sides that no thread may touch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace flashmoe::model {

class GuardedMemory {
 public:
  static constexpr std::size_t kGuardBytes = 1024;  // on each side

  explicit GuardedMemory(std::size_t bytes);
  GuardedMemory(GuardedMemory&&) noexcept = default;
  ~GuardedMemory();

  std::byte* data() const { return data_; }

  void prepare();       // before each block
  std::string check();  // after each block: describes a write into the guards, or ""

 private:
  std::byte* before() const { return data_ - kGuardBytes; }
  std::byte* behind() const { return data_ + bytes_; }
  void open_guards();

  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace flashmoe::model

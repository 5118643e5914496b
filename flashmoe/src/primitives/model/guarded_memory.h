// SPDX-License-Identifier: MIT
// The shared memory of one block: aligned as a GPU's, NaN until something is written, and with a guard on
// either side that nobody may touch.
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

  void prepare();       // for the next block
  std::string check();  // after it: what was written outside, or ""

 private:
  std::byte* before() const { return data_ - kGuardBytes; }
  std::byte* behind() const { return data_ + bytes_; }
  void open_guards();

  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace flashmoe::model

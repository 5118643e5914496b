// SPDX-License-Identifier: MIT
// Memory shared with workers through an inherited descriptor: it has no name and no file, and is freed when
// its last user ends.
#pragma once

#include <cstddef>

namespace dent {

class SharedMemory {
 public:
  enum class Children { may_write, only_read };

  SharedMemory() = default;
  SharedMemory(const char* name, std::size_t bytes, Children children);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  int descriptor() const { return descriptor_; }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace dent

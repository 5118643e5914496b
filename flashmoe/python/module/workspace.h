// SPDX-License-Identifier: MIT
// Host workspace of the calling thread: kept from call to call, so that repeated calls allocate nothing.
#pragma once

#include <cstddef>
#include <new>

namespace flashmoe_python {

class ThreadWorkspace {
 public:
  static constexpr std::size_t kAlignment = 64;        // what the C ABI asks for
  static constexpr std::size_t kKeepBytes = 64 << 20;  // a larger block is given back after its call

  static ThreadWorkspace& of_this_thread() {
    static thread_local ThreadWorkspace workspace;
    return workspace;
  }

  // At least `bytes` bytes, or null when there is no memory.
  void* reserve(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    free();
    data_ = ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow);
    bytes_ = data_ == nullptr ? 0 : bytes;
    return data_;
  }
  void trim() {
    if (bytes_ > kKeepBytes) free();
  }

  ThreadWorkspace() = default;
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;
  ~ThreadWorkspace() { free(); }

 private:
  void free() {
    ::operator delete(data_, std::align_val_t(kAlignment));
    data_ = nullptr;
    bytes_ = 0;
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace flashmoe_python

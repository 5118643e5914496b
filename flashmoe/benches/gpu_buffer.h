// SPDX-License-Identifier: MIT
// What the GPU benches in C++ share: checked calls, and memory on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace flashmoe::bench {

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

class Buffer {
 public:
  explicit Buffer(std::size_t bytes) {
    check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 16)), "cudaMalloc");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* at(std::size_t offset = 0) const { return static_cast<std::byte*>(data_) + offset; }

 private:
  void* data_ = nullptr;
};

}  // namespace flashmoe::bench

// SPDX-License-Identifier: MIT
// PyTorch's current CUDA device and stream.
#pragma once

#include "object.h"

namespace flashmoe_python {

// Makes a device the current one, as the library asks of its callers, until the end of the scope.
class CudaDeviceScope {
 public:
  CudaDeviceScope() = default;
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;
  ~CudaDeviceScope();
  bool enter(int device_index);

 private:
  int previous_ = -1;  // -1: nothing to restore
};

bool torch_current_stream(int device_index, void*& stream);  // the cudaStream_t that PyTorch is using there

}  // namespace flashmoe_python

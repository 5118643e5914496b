// SPDX-License-Identifier: MIT
// PyTorch tensors, through the attributes that every release has: no header, no library, no ABI.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool is_torch_tensor(PyObject* object);  // torch.Tensor or a subclass of it
bool read_torch(int rank, TensorView& view);

// Attention here has no backward: refuses inputs that PyTorch would want one for.
bool check_no_grad(const TensorView& view);

Ref torch_output(const TensorView& q);  // like q: shape, dtype, device, order of the dimensions in memory
// Reads what torch_output made: a plain tensor of q's shape, dtype and device, of which only the memory is
// news.
bool read_torch_output(PyObject* tensor, const TensorView& q, TensorView& view);
Ref torch_lse(const TensorView& q);  // float32 [B, Hq, Sq] on q's device
Ref torch_scratch(const TensorView& q,
                  std::size_t bytes);  // uint8 on q's device, from PyTorch's own allocator

// Makes q's device the current one, as the library asks of its callers, until the end of the scope.
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

bool torch_data_pointer(PyObject* tensor, void*& pointer);
bool torch_current_stream(int device_index, void*& stream);  // the cudaStream_t that PyTorch is using there

}  // namespace flashmoe_python

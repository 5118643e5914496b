// SPDX-License-Identifier: MIT
// PyTorch tensors: how they are read.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool is_torch_tensor(PyObject* object);  // torch.Tensor or a subclass of it
bool read_torch(int rank, TensorView& view);
// A tensor that PyTorch has just made for us, of which nothing but its memory can be news.
bool read_new_torch(PyObject* tensor, const char* name, int rank, TensorView& view);
bool torch_data_pointer(PyObject* tensor, void*& pointer);

// Attention here has no backward: refuses inputs that PyTorch would want one for.
bool check_no_grad(const TensorView& view);

}  // namespace flashmoe_python

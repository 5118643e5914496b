// SPDX-License-Identifier: MIT
// PyTorch tensors: how they are read.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool is_torch_tensor(PyObject* object);  // torch.Tensor or a subclass of it
bool read_torch(TensorView& view);
// A tensor that PyTorch has just made for us: a plain one. The view's name and form are set.
bool read_new_torch(PyObject* tensor, TensorView& view);
bool torch_data_pointer(PyObject* tensor, void*& pointer);

// Whether PyTorch would want a gradient of it. -1 with an exception.
int wants_grad(const TensorView& view);
// Refuses tensors that are written in place, of which no gradient can be had.
bool check_no_grad(const TensorView& view);

}  // namespace flashmoe_python

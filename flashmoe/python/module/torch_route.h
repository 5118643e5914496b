// SPDX-License-Identifier: MIT
// Whether PyTorch has to see a call that plain pointers would hide from it: because it records gradients, or
// because something (a tracer, autocast, a dispatch mode, forward-mode differentiation) watches its
// operators.
#pragma once

#include "object.h"

namespace flashmoe_python {

// Something but autocast watches the operators of this thread. `tensor` is a PyTorch tensor.
bool torch_watches(PyObject* tensor);
bool torch_autocasts();
bool torch_transforms();  // torch.func: or it can't be asked

// A tensor that is no plain memory, but whose operators know what it is: fake, functional, of torch.func.
// Asked after it could not be read: the current exception stays.
bool torch_wraps(PyObject* tensor);

}  // namespace flashmoe_python

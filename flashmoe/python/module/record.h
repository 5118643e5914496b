// SPDX-License-Identifier: MIT
// A call that has been computed, as PyTorch's autograd records it: once per call in training, so what
// torch.autograd.Function leaves to Python is done here.
#pragma once

#include "object.h"

namespace flashmoe_python {

// What autograd is to know of a call. Borrowed references.
struct Recording {
  PyObject* saved;    // a tuple for ctx.saved_tensors: tensors and None
  PyObject* options;  // ctx.options
  PyObject* result;   // a tensor, or a tuple of tensors of which some may get no gradient
};

// `apply` of a torch.autograd.Function whose forward() is keep_for_backward, called with `inputs`, a tuple of
// tensors and None. Gives the result, which has its grad_fn then.
PyObject* record(PyObject* apply, PyObject* inputs, const Recording& recording);

// forward(ctx, *inputs) of what record() has in hand.
PyObject* keep_for_backward(PyObject* module, PyObject* const* args, Py_ssize_t count);

}  // namespace flashmoe_python

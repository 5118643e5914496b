// SPDX-License-Identifier: MIT
// Tensors that a call writes to: the caller's, or new ones of the inputs' library.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool given(PyObject* object);  // neither null nor None

// New, of the library that `like` is of, with its view; `name` is the argument that stands in where that
// library is unknown.
Ref new_like(const TensorView& like, const char* name, TensorView& view);
Ref new_lse(const TensorView& q, TensorView& view);  // float32 [B, Hq, Sq], or [Hq, rows] where q is packed

bool check_same_device(const TensorView& view, const TensorView& q);

// The caller's tensor, to be written to.
bool read_target(PyObject* object, const char* name, const Form& form, const TensorView& q, TensorView& view);

// A value for each row of q: float32 as new_lse makes it, contiguous.
const Form& form_of_rows(const TensorView& q);
bool check_rows(const TensorView& view, const TensorView& q);

}  // namespace flashmoe_python

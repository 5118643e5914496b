// SPDX-License-Identifier: MIT
// NumPy arrays, through the buffer protocol; NumPy itself is used only to allocate.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool is_numpy_array(PyObject* object);  // numpy.ndarray or a subclass of it
bool read_numpy(int rank, TensorView& view);

// A new array like q: its shape, its dtype, and the order of its dimensions in memory.
Ref numpy_output(const TensorView& q);
Ref numpy_lse(const TensorView& q);  // float32 [B, Hq, Sq]

}  // namespace flashmoe_python

// SPDX-License-Identifier: MIT
// NumPy arrays, through the buffer protocol; NumPy itself is used only to allocate.
#pragma once

#include <span>

#include "tensor_view.h"

namespace flashmoe_python {

bool is_numpy_array(PyObject* object);  // numpy.ndarray or a subclass of it
bool read_numpy(TensorView& view);

// A new array like q: its shape, its dtype, and the order of its dimensions in memory.
Ref numpy_output(const TensorView& q);
Ref numpy_rows(const TensorView& q, std::span<const int64_t> sizes);  // float32 of that shape

}  // namespace flashmoe_python

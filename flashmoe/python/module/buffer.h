// SPDX-License-Identifier: MIT
// Memory that an object shows through Python's buffer protocol: NumPy arrays, memoryviews, arrays of ctypes.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool has_buffer(PyObject* object);
bool read_buffer(TensorView& view);

// The steps of it, for a reader that knows more of its objects.
bool export_buffer(PyObject* object, TensorView& view);  // into view.buffer
bool fill_dtype(TensorView& view);  // false, and no exception, for types that we can't use
bool fill_layout(TensorView& view);

}  // namespace flashmoe_python

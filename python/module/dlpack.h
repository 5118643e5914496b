// SPDX-License-Identifier: MIT
// Any other library's tensors, through the DLPack protocol (Python array API standard; DLPack 0.x and 1.x).
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

bool has_dlpack(PyObject* object);
bool read_dlpack(int rank, TensorView& view);

}  // namespace flashmoe_python

// SPDX-License-Identifier: MIT
// Any other library's tensors, through the DLPack protocol (Python array API standard; DLPack 0.x and 1.x).
#pragma once

#include "dlpack_abi.h"
#include "tensor_view.h"

namespace flashmoe_python {

bool has_dlpack(PyObject* object);
bool read_dlpack(TensorView& view);

// Copies what `from` says into the view if it is a tensor that the library could use: its number of
// dimensions is that of the view's form, its type and its device are accepted ones. False otherwise, and no
// exception: the caller says it better.
bool fill_from(const dlpack::Tensor& from, TensorView& view);

}  // namespace flashmoe_python

// SPDX-License-Identifier: MIT
// New PyTorch tensors, from PyTorch's own allocators.
#pragma once

#include <span>

#include "tensor_view.h"

namespace flashmoe_python {

// Like q: shape, dtype, device, order of the dimensions in memory. `made`, whose name and form are set,
// becomes its view.
Ref torch_output(const TensorView& q, TensorView& made);
// float32 of that shape, on q's device.
Ref torch_rows(const TensorView& q, std::span<const int64_t> sizes, TensorView& made);
Ref torch_scratch(const TensorView& q, std::size_t bytes);  // uint8 on q's device

}  // namespace flashmoe_python

// SPDX-License-Identifier: MIT
// New PyTorch tensors, from PyTorch's own allocators.
#pragma once

#include "tensor_view.h"

namespace flashmoe_python {

Ref torch_output(const TensorView& q);  // like q: shape, dtype, device, order of the dimensions in memory
Ref torch_lse(const TensorView& q);     // float32 [B, Hq, Sq] on q's device
Ref torch_scratch(const TensorView& q, std::size_t bytes);  // uint8 on q's device

}  // namespace flashmoe_python

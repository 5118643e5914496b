// SPDX-License-Identifier: MIT
// What this module uses of PyTorch, looked up once. No header, no library, no ABI: attributes that every
// release has, and two shortcuts that newer ones offer, with a way around each.
#pragma once

#include <array>

#include "dlpack_abi.h"
#include "member.h"

namespace flashmoe_python {

struct Torch {
  PyObject *tensor, *parameter;     // types
  std::array<PyObject*, 3> dtypes;  // of FLASHMOE_FP32, FLASHMOE_FP16, FLASHMOE_BF16
  PyObject *uint8, *int32, *boolean, *strided, *empty, *empty_like;
  Function is_grad_enabled;
  Attribute requires_grad;
  Method is_neg, data_ptr, numel;
  bool has_operators;  // ours: from PyTorch 2.4 on. The others can't be told all that they need.
  // What may watch operators. Null where we have none.
  Function is_any_autocast_enabled, num_dispatch_modes, are_transforms_active;
  PyObject* forward_ad;            // the dictionary of torch.autograd.forward_ad
  PyObject* is_functorch_wrapped;  // tensor -> bool
  // Of torch._C: what every CUDA build has, and null in others.
  PyObject *cuda_device_count, *cuda_get_device, *cuda_set_device, *cuda_current_stream;
  const dlpack::ExchangeApi* exchange;  // null before PyTorch 2.10
  // _empty_strided_cpu(sizes, strides, dtype) and _empty_strided_cuda(...), by FLASHMOE_DEVICE_*: what
  // PyTorch's own compiled programs allocate with, in half the time of torch.empty. Null where they are not.
  std::array<PyObject*, 2> empty_strided;
};

extern const Torch* found_torch;  // null until it has been
const Torch* find_torch();

// Null until the program has imported PyTorch. Nothing in this module imports it.
inline const Torch* torch() { return found_torch != nullptr ? found_torch : find_torch(); }

}  // namespace flashmoe_python

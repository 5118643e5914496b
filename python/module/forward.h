// SPDX-License-Identifier: MIT
// One forward call: tensors in, pointers to the C ABI, tensors out.
#pragma once

#include "object.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct ForwardRequest {
  PyObject* q = nullptr;
  PyObject* k = nullptr;
  PyObject* v = nullptr;
  PyObject* out = nullptr;         // made like q when not given
  PyObject* lse = nullptr;         // float32 [B, Hq, Sq], written in place
  PyObject* return_lse = nullptr;  // makes an lse, and returns (out, lse)
  PyObject* causal = nullptr;
  PyObject* scale = nullptr;
  PyObject* threads = nullptr;
  PyObject* programmatic = nullptr;
  const char* scale_name = "scale";  // what the caller's function calls it
};

PyObject* run_forward(const ForwardRequest& request);
PyObject* explain_forward(const ForwardRequest& request);

}  // namespace flashmoe_python

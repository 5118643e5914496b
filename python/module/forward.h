// SPDX-License-Identifier: MIT
// One forward call: tensors in, pointers to the C ABI, tensors out.
#pragma once

#include "object.h"

namespace flashmoe_python {

struct ForwardRequest {  // borrowed references; null or None where the caller gave nothing
  PyObject *q, *k, *v;
  PyObject* out = nullptr;  // made like q when not given
  PyObject* lse = nullptr;  // float32 [B, Hq, Sq], written in place
  bool return_lse = false;  // makes an lse, and returns (out, lse)
  PyObject* causal = nullptr;
  PyObject* scale = nullptr;
  const char* scale_name = "scale";
  PyObject* threads = nullptr;
  PyObject* programmatic = nullptr;
};

PyObject* run_forward(const ForwardRequest& request);
PyObject* explain_forward(const ForwardRequest& request);

}  // namespace flashmoe_python

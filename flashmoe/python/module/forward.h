// SPDX-License-Identifier: MIT
// One forward call: tensors in, pointers to the C ABI, tensors out.
#pragma once

#include "dropout.h"
#include "lengths.h"
#include "object.h"
#include "scores.h"
#include "spans.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct ForwardRequest : LengthsRequest, SpansRequest, ScoresRequest, DropoutRequest {
  PyObject* q = nullptr;
  PyObject* k = nullptr;
  PyObject* v = nullptr;
  PyObject* out = nullptr;         // made like q when not given
  PyObject* lse = nullptr;         // float32 [B, Hq, Sq], written in place
  PyObject* return_lse = nullptr;  // makes an lse, and returns (out, lse)
  PyObject* causal = nullptr;
  PyObject* scale = nullptr;
  PyObject* window = nullptr;
  PyObject* threads = nullptr;
  PyObject* programmatic = nullptr;
  PyObject* deterministic = nullptr;  // of the backward pass, if there is to be one
  PyObject* backward = nullptr;       // explain: the backward pass
  const char* scale_name = "scale";   // what the caller's function calls it
};

// Through PyTorch's autograd or its operators where those have to see the call; else as compute_forward.
PyObject* run_forward(const ForwardRequest& asked);
// Computes, whatever PyTorch records or watches.
PyObject* compute_forward(const ForwardRequest& request);
PyObject* explain_call(const ForwardRequest& asked);

}  // namespace flashmoe_python

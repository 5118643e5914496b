// SPDX-License-Identifier: MIT
// One backward call: tensors in, pointers to the C ABI, gradients out.
#pragma once

#include "dropout.h"
#include "lengths.h"
#include "object.h"
#include "scores.h"
#include "spans.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct BackwardRequest : LengthsRequest, SpansRequest, ScoresRequest, DropoutRequest {
  PyObject* q = nullptr;
  PyObject* k = nullptr;
  PyObject* v = nullptr;
  PyObject* out = nullptr;
  PyObject* lse = nullptr;
  PyObject* dout = nullptr;
  PyObject* dlse = nullptr;
  PyObject* dq = nullptr;  // made like q when not given, and so on
  PyObject* dk = nullptr;
  PyObject* dv = nullptr;
  PyObject* dattn_mask = nullptr;  // float32, broadcast as attn_mask; not computed when not given
  PyObject* causal = nullptr;
  PyObject* scale = nullptr;
  PyObject* window = nullptr;
  PyObject* deterministic = nullptr;
  PyObject* threads = nullptr;
};

PyObject* run_backward(const BackwardRequest& request);  // (dq, dk, dv)

}  // namespace flashmoe_python

// SPDX-License-Identifier: MIT
// Weights that are left out at random: the arguments that say so.
#pragma once

#include "flashmoe/flashmoe.h"
#include "object.h"

namespace flashmoe_python {

// What the caller gave: borrowed references, null or None where that was nothing.
struct DropoutRequest {
  PyObject* dropout_p = nullptr;
  PyObject* dropout_seed = nullptr;  // an integer, a tensor of one, or a torch.Generator to draw it from

  bool has_dropout() const;  // a probability other than 0
};

// Fills `dropout` and sets `to` where there is any.
bool read_dropout(const DropoutRequest& request, flashmoe_dropout& dropout, const flashmoe_dropout*& to);

// Where there is dropout of PyTorch tensors, of which q is one, and no number to draw it by: `seed` becomes a
// tensor of one from PyTorch's generator, or from the one that was given, and the request names it.
bool draw_seed(PyObject* q, DropoutRequest& request, Ref& seed);

}  // namespace flashmoe_python

// SPDX-License-Identifier: MIT
// What attention_backward must refuse, with what its message has to say. Used on the C++ API and on the C ABI
// alike. What both directions check by the same code is in bad_inputs.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flashmoe/attention.h"

namespace flashmoe::test {

struct BadGradient {
  std::string name;
  std::function<void(BackwardArgs&)> spoil;
  std::vector<std::string> says;
  bool in_shapes = true;  // backward_workspace_bytes refuses it too; else it is about pointers
};

// Of good_shape() in bad_inputs.h, with a dlse.
std::vector<BadGradient> bad_gradients();

}  // namespace flashmoe::test

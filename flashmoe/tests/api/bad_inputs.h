// SPDX-License-Identifier: MIT
// Everything that attention_forward must refuse, with what its message has to say. Used on the C++ API and on
// the C ABI alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/problem.h"

namespace flashmoe::test {

struct BadInput {
  std::string name;
  std::function<void(ForwardArgs&)> spoil;
  std::vector<std::string> says;  // the value that was given, and what is accepted
  ErrorCode code = ErrorCode::invalid_argument;
  bool in_shapes = true;  // forward_workspace_bytes refuses it too; else it is about pointers
};

// What each of them starts from; all good. k and v are larger than out, so that out can lie inside one of
// them.
inline Shape good_shape() {
  return {.batch = 2, .q_heads = 4, .kv_heads = 2, .q_rows = 5, .kv_rows = 23, .head_dim = 16};
}

std::vector<BadInput> bad_inputs();

}  // namespace flashmoe::test

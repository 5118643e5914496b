// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "problem/forward_problem.h"

namespace flashmoe {

// How far rows see, for a person; "" where no window limits it.
inline std::string window_in_words(const ForwardProblem& p) {
  if (!p.window.limits()) return {};
  const auto side = [](int64_t keys) { return keys == Window::kUnlimited ? "all" : std::to_string(keys); };
  return "a row sees " + side(p.window.left) + " keys before its position and " +
         (p.mask == Mask::none ? side(p.window.right) : "none") + " behind it";
}

}  // namespace flashmoe

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

// The spans that there are; "" for none.
inline std::string spans_in_words(const SpanNames& spans) {
  std::string text;
  const auto add = [&](bool given, const std::string& words) {
    if (given) text += (text.empty() ? "" : ", ") + words;
  };
  add(spans.documents, "documents");
  add(spans.prefix, "a prefix");
  add(spans.left_padding, "padding on the left");
  add(spans.chunk > 0, "chunks of " + std::to_string(spans.chunk));
  add(spans.first_keys > 0, std::to_string(spans.first_keys) + " first keys");
  return text;
}

}  // namespace flashmoe

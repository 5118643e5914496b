// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "problem/forward_problem.h"

namespace flashmoe {

// How sequences of different lengths lie in memory, for a person; "" where there are none.
inline std::string lengths_in_words(const LengthNames& lengths) {
  if (!lengths.given) return {};
  const auto side = [](bool packed) { return std::string(packed ? "packed" : "padded"); };
  return std::to_string(lengths.sequences) + " sequences, q " + side(lengths.q_packed) + ", k and v " +
         side(lengths.k_packed);
}

}  // namespace flashmoe

// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <string>

#include "problem/forward_problem.h"

namespace flashmoe {

// What happens to scores, for a person; "" where nothing does.
inline std::string scores_in_words(const ForwardProblem& p) {
  std::ostringstream words;
  const char* before = "";
  if (p.softcap > 0) {
    words << "capped at " << p.softcap;
    before = ", ";
  }
  if (p.slopes) {
    words << before << "less a slope times the distance";
    before = ", ";
  }
  if (p.attn_mask) {
    words << before << "what a tensor adds";
    before = ", ";
  }
  if (p.sinks) {
    words << before << "a sink in every row's sum";
    before = ", ";
  }
  if (p.dropout.p > 0) words << before << "weights left out at random, " << 100 * p.dropout.p << " %";
  return words.str();
}

}  // namespace flashmoe

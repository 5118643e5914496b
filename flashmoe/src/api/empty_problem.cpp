// SPDX-License-Identifier: MIT
#include "api/empty_problem.h"

namespace flashmoe {

std::string explain_empty(const ForwardProblem& p) {
  return std::string("nothing to compute: there are no rows or no keys\n  results: 0, and ") +
         (p.sinks ? "its head's sink" : "-inf") + " for a log-sum-exp\n";
}

}  // namespace flashmoe

// SPDX-License-Identifier: MIT
// Problems in which no row sees any key because there are no rows or no keys. What there is
// of results is 0, and for a log-sum-exp -inf, or the head's sink.
#pragma once

#include <string>

#include "problem/forward_problem.h"

namespace flashmoe {

inline bool has_rows(const ForwardProblem& p) { return p.batch > 0 && p.q_heads > 0 && p.q_rows > 0; }
inline bool has_keys(const ForwardProblem& p) { return p.batch > 0 && p.kv_heads > 0 && p.kv_rows > 0; }
inline bool is_empty(const ForwardProblem& p) { return !has_rows(p) || !has_keys(p); }

std::string explain_empty(const ForwardProblem& p);

}  // namespace flashmoe

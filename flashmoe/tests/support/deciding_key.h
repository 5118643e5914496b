// SPDX-License-Identifier: MIT
// Scores so large that fp32 resolves them coarsely; if one key dominates a row, the output must be its value.
#pragma once

#include <string>

#include "support/problem.h"

namespace flashmoe::test {

// Sets every element of key `key` to `value`, in each batch entry and head: its scores are `value` times the
// sum of a query, far above or far below all others.
void set_deciding_key(const Problem& problem, int64_t key, float value);

// Sets all keys to `value`: each row's scores are equal, and its output is the mean of the values.
void set_equal_keys(const Problem& problem, float value);

// "" if the output agrees with the oracle, and equals the value of `key` in every row that it dominates.
std::string trouble_with_deciding_key(const Problem& problem, int64_t key);

// "" if every output is the mean of the values that its row sees, as exactly as the type allows. The oracle's
// bound is wider: with scores this large, rounding one of them may give a single key all the weight.
std::string trouble_with_equal_keys(const Problem& problem);

}  // namespace flashmoe::test

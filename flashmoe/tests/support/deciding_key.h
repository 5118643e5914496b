// SPDX-License-Identifier: MIT
// Scores so large that fp32 is coarse around them: where one key decides a row, its value has to come out.
#pragma once

#include <string>

#include "support/problem.h"

namespace flashmoe::test {

// Makes every element of key `key` `value`, in each batch entry and head: its scores are that times the sum
// of a query, far above all others or far below.
void set_deciding_key(const Problem& problem, int64_t key, float value);

// The same for all keys: each row's scores are equal, and its output is the mean of the values.
void set_equal_keys(const Problem& problem, float value);

// "" when the output agrees with the oracle, and is exactly the value of `key` in every row that it decides.
std::string trouble_with_deciding_key(const Problem& problem, int64_t key);

// "" when every output is the mean of the values that its row sees, as exactly as the type allows. The oracle
// says less: next to scores this large, any rounding of them may tip a row over to one key.
std::string trouble_with_equal_keys(const Problem& problem);

}  // namespace flashmoe::test

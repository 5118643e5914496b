// SPDX-License-Identifier: MIT
// What is left of a budget, and which part of it is used up most.
#pragma once

#include <optional>

#include "accounting/cost.h"

namespace dent {

struct BudgetLeft {  // nothing: no limit
  std::optional<double> seconds, device_seconds, usd;
  std::optional<int> iterations;
};
BudgetLeft left_of(const Budget& budget, const Cost& cost, const Rates& rates);

struct BudgetShare {
  BudgetPart part = BudgetPart::time;
  double share = 0;  // share of it that is spent
};
// The part of the budget that is nearest to its limit; nothing without a budget.
std::optional<BudgetShare> most_spent(const Budget& budget, const Cost& cost, const Rates& rates);

void fields(Fields& f, BudgetLeft& left);

}  // namespace dent

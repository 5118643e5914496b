// SPDX-License-Identifier: MIT
// What is left of a budget, and which part of it ends first.
#pragma once

#include <optional>
#include <string>

#include "loop/state/brief.h"
#include "accounting/cost.h"

namespace dent {

BudgetLeft left_of(const Budget& budget, const Cost& cost, const Rates& rates);

// The part of the budget that is nearest its end: "time", 0.83. Nothing without a budget.
struct BudgetShare {
  std::string what;  // "time", "device time", "iterations", "money"
  double share = 0;
};
std::optional<BudgetShare> most_spent(const Budget& budget, const Cost& cost, const Rates& rates);

}  // namespace dent

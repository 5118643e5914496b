// SPDX-License-Identifier: MIT
#include "accounting/budget.h"

#include <algorithm>

namespace dent {

BudgetLeft left_of(const Budget& budget, const Cost& cost, const Rates& rates) {
  BudgetLeft left;
  if (budget.minutes > 0) left.seconds = std::max(0.0, 60 * budget.minutes - cost.wall_s);
  if (budget.device_minutes > 0)
    left.device_seconds = std::max(0.0, 60 * budget.device_minutes - cost.device_s);
  if (budget.usd > 0) left.usd = std::max(0.0, budget.usd - money_of(cost, rates).total());
  if (budget.iterations > 0) left.iterations = std::max(0, budget.iterations - cost.iterations);
  return left;
}

std::optional<BudgetShare> most_spent(const Budget& budget, const Cost& cost, const Rates& rates) {
  std::optional<BudgetShare> most;
  const auto look = [&most](BudgetPart part, double limit, double spent) {
    if (limit > 0 && (!most || spent / limit > most->share)) most = BudgetShare{part, spent / limit};
  };
  look(BudgetPart::time, 60 * budget.minutes, cost.wall_s);
  look(BudgetPart::device_time, 60 * budget.device_minutes, cost.device_s);
  look(BudgetPart::iterations, budget.iterations, cost.iterations);
  look(BudgetPart::money, budget.usd, money_of(cost, rates).total());
  return most;
}

void fields(Fields& f, BudgetLeft& left) {
  f("seconds", left.seconds, "of dent at work");
  f("device_seconds", left.device_seconds, "of gates that run kernels");
  f("usd", left.usd, "money");
  f("iterations", left.iterations, "of the loop");
}

}  // namespace dent

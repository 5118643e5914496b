// SPDX-License-Identifier: MIT
// Names one bottleneck with its evidence, or refuses and names the missing evidence.
#pragma once

#include <string>
#include <vector>

#include "diagnose/tree.h"
#include "records/diagnosis.h"
#include "records/quantities.h"

namespace dent {

// Walks the tree from the top. A condition on a quantity that is not applicable does not hold; one on a
// missing quantity or NaN is unknown. The answer is refused as soon as it depends on an unknown condition.
Diagnosis diagnose(const Tree& tree, const Quantities& quantities);

// Replaces {name} by the quantity's number, and {why name} by its reason. Omits a part in [brackets] if one
// of its quantities has no number.
std::string with_numbers(const std::string& text, const Quantities& quantities);

struct Judged {
  const Target* target = nullptr;
  Reading reading;
  enum class Verdict { good, bad, none } verdict = Verdict::none;
};
std::vector<Judged> judge_targets(const Tree& tree, const Quantities& quantities);

}  // namespace dent

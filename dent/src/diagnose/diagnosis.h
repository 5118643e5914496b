// SPDX-License-Identifier: MIT
// One named bottleneck with its evidence, or a refusal that names the evidence which is missing.
#pragma once

#include <string>
#include <vector>

#include "diagnose/tree.h"
#include "records/diagnosis.h"
#include "records/quantities.h"

namespace dent {

// Walks the tree from the top. A quantity that is not applicable makes a condition not hold; one that is
// missing or not a number makes it unknown, and the answer is refused as soon as it hangs on an unknown
// condition.
Diagnosis diagnose(const Tree& tree, const Quantities& quantities);

// Replaces {name} by the quantity's number, and {why name} by how it came about. A part in [brackets] is left
// out when one of its quantities has no number.
std::string with_numbers(const std::string& text, const Quantities& quantities);

struct Judged {
  const Target* target = nullptr;
  Reading reading;
  enum class Verdict { good, bad, none } verdict = Verdict::none;
};
std::vector<Judged> judge_targets(const Tree& tree, const Quantities& quantities);

}  // namespace dent

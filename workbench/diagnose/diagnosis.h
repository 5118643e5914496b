// SPDX-License-Identifier: MIT
// One named bottleneck with its evidence, or a refusal that names the evidence which is missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "records/quantities.h"
#include "diagnose/tree.h"

namespace dent {

struct Diagnosis {
  std::string bottleneck;  // "" when refused
  std::string title;
  std::string says;  // one line with the numbers in it
  std::string phase;
  std::string advice;
  std::vector<std::string> decided;  // conditions with their numbers
  std::string runner_up;             // what it would be if this one were not; "" when nothing else comes near
  std::string runner_up_says;
  bool runner_up_holds = false;         // its conditions hold too, or it is only the nearest to holding
  std::vector<std::string> overturned;  // what would have to be different
  std::string refusal;                  // why there is no answer
  std::vector<std::string> missing;     // the quantities that it would take

  bool refused() const { return bottleneck.empty(); }
};

// Walks the tree from the top. A quantity that is not applicable makes a condition not hold; one that is
// missing or not a number makes it unknown, and the answer is refused as soon as it hangs on an unknown
// condition.
Diagnosis diagnose(const Tree& tree, const Quantities& quantities);

// Replaces {name} by the quantity's number.
std::string with_numbers(const std::string& text, const Quantities& quantities);

nlohmann::json to_json(const Diagnosis& diagnosis);
Diagnosis diagnosis_of(const nlohmann::json& record);

struct Judged {
  const Target* target = nullptr;
  Reading reading;
  enum class Verdict { good, bad, none } verdict = Verdict::none;
};
std::vector<Judged> judge_targets(const Tree& tree, const Quantities& quantities);

}  // namespace dent

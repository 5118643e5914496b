// SPDX-License-Identifier: MIT
#include "session/participants.h"

#include "base/error.h"
#include "system/strays.h"

namespace dent {

Worker& Participants::candidate() {
  if (!candidate_) {
    adopt_orphans();  // from here on, and not before: a build may leave a compiler's server behind
    candidate_ = workshop_.start(workshop_.project().kernel, Role::candidate);
  }
  return *candidate_;
}

Worker& Participants::baseline() {
  const Kernel& kernel = choose_baseline(true);
  if (!baseline_) baseline_ = workshop_.start(kernel, Role::baseline);
  return *baseline_;
}

Oracle& Participants::oracle() {
  if (!oracle_) oracle_ = std::make_unique<Oracle>(workshop_);
  return *oracle_;
}

const Kernel& Participants::choose_baseline(bool try_them) {
  const auto& all = workshop_.project().baselines;
  for (std::size_t i = 0; !chosen_ && i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    if (last || !try_them || all[i].python.empty()) {
      chosen_ = i;
      break;
    }
    try {
      baseline_ = workshop_.start(all[i], Role::baseline);
      chosen_ = i;
    } catch (const std::exception& problem) {  // not on this machine; the next one then
      notes_.push_back("baseline " + all[i].name + " can't run here: " + in_one_line(problem));
    }
  }
  return all.at(chosen_.value_or(0));
}

void Participants::keep_baseline(const std::string& name) {
  const auto& all = workshop_.project().baselines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) chosen_ = i;
  }
}

void Participants::dismiss() {
  candidate_.reset();
  baseline_.reset();
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "gates/sides.h"

#include "base/error.h"

namespace dent {

Sides::Sides(WorkerFactory& workers, Oracle& oracle, Kernel candidate, std::filesystem::path artifacts)
    : workers_(workers),
      oracle_(oracle),
      candidate_kernel_(std::move(candidate)),
      against_(Against::baseline),
      artifacts_(std::move(artifacts)) {}

Sides::Sides(WorkerFactory& workers, Oracle& oracle, Kernel candidate, Kernel opponent, Against against,
             std::filesystem::path artifacts)
    : workers_(workers),
      oracle_(oracle),
      candidate_kernel_(std::move(candidate)),
      opponent_kernel_(std::move(opponent)),
      against_(against),
      artifacts_(std::move(artifacts)) {}

Worker& Sides::candidate() {
  if (!candidate_) candidate_ = workers_.start(candidate_kernel_, Role::candidate, artifacts_);
  return *candidate_;
}

const Kernel& Sides::opponent_kernel() {
  return opponent_kernel_ ? *opponent_kernel_ : choose_baseline(true);
}

Worker& Sides::opponent() {
  const Kernel& kernel = opponent_kernel();  // called first, since it may start the opponent
  if (!opponent_)
    opponent_ = workers_.start(kernel, opponent_kernel_ ? Role::incumbent : Role::baseline, artifacts_);
  return *opponent_;
}

void Sides::set_candidate(Kernel kernel) {
  candidate_.reset();
  candidate_kernel_ = std::move(kernel);
}

void Sides::restart() {
  candidate_.reset();
  opponent_.reset();
}

const Kernel& Sides::choose_baseline(bool try_them) {
  const auto& all = workers_.project().baselines;
  for (std::size_t i = 0; !chosen_ && i < all.size(); ++i) {
    const bool last = i + 1 == all.size();
    if (last || !try_them || all[i].python.empty()) {
      chosen_ = i;
      break;
    }
    try {
      opponent_ = workers_.start(all[i], Role::baseline, artifacts_);
      chosen_ = i;
    } catch (const std::exception& problem) {  // it can't run on this machine: try the next
      notes_.push_back("baseline " + all[i].name + " can't run on this machine: " + in_one_line(problem));
    }
  }
  return all.at(chosen_.value_or(0));
}

void Sides::keep_baseline(const std::string& name) {
  const auto& all = workers_.project().baselines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) chosen_ = i;
  }
}

}  // namespace dent

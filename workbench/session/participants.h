// SPDX-License-Identifier: MIT
// Who takes part in a session: the candidate, the baseline that can run here, and the oracle, each started
// when it is first needed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gates/judging/oracle.h"
#include "gates/workshop.h"

namespace dent {

class Participants {
 public:
  explicit Participants(Workshop& workshop) : workshop_(workshop) {}

  Worker& candidate();
  Worker& baseline();  // the one that was chosen
  Oracle& oracle();

  // The first baseline that can run here; `try_them`: by starting those in Python, which may lack a package.
  const Kernel& choose_baseline(bool try_them);
  void keep_baseline(const std::string& name);                      // that an interrupted session had chosen
  const std::vector<std::string>& notes() const { return notes_; }  // why others were not chosen

  void dismiss();  // candidate and baseline: after a failure, the next step starts afresh

 private:
  Workshop& workshop_;
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<Worker> candidate_;
  std::unique_ptr<Worker> baseline_;
  std::optional<std::size_t> chosen_;
  std::vector<std::string> notes_;
};

}  // namespace dent

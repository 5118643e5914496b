// SPDX-License-Identifier: MIT
// Takes every project of a suite through `dent run`, each in a process of its own: whatever one of them does
// is a row, and no other's business.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "session/observer.h"
#include "suites/suite.h"

namespace dent {

struct SuiteRunRules {
  std::filesystem::path program;    // dent
  std::vector<std::string> gpus{};  // to use at the same time, as CUDA_VISIBLE_DEVICES names them
  int per_gpu = 1;                  // projects at a time
  bool again = false;               // also those that have a row which does not stand
  bool trusted = false;             // projects are the user's own; else another author's, in cells
  std::vector<std::filesystem::path> visible{};  // that code of another author's may see
};

// Those without a row, or with one that is asked for again. `each` is told as soon as one has ended, and how
// many have by then; the observer, who runs where. A session that a killed suite left behind goes on.
void run_suite(const Suite& suite, const SuiteRunRules& rules, Observer& observer,
               const std::function<void(const SuiteRow&, std::size_t done)>& each);

}  // namespace dent

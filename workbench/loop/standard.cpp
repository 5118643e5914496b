// SPDX-License-Identifier: MIT
#include "loop/standard.h"

#include <algorithm>

#include "error.h"
#include "loop/search.h"
#include "loop/variants.h"

namespace dent {

std::unique_ptr<Proposer> standard_proposer(const Project& project) {
  const auto& named = project.optimize.proposers;
  const auto wanted = [&](const char* name, bool has_work) {
    return has_work && (named.empty() || std::find(named.begin(), named.end(), name) != named.end());
  };
  std::vector<std::unique_ptr<Proposer>> proposers;
  if (wanted("variants", !project.variants.empty()))
    proposers.push_back(std::make_unique<VariantsProposer>());
  if (wanted("search", !project.tunables.empty())) proposers.push_back(std::make_unique<SearchProposer>());
  if (proposers.empty()) {
    throw Error(ErrorCode::invalid, "dent.toml gives nothing to try",
                "[tunables] with macros and their values, [[variants]] of the kernel, or optimize.command");
  }
  return std::make_unique<ByPhase>(std::move(proposers));
}

}  // namespace dent

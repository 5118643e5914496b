// SPDX-License-Identifier: MIT
#include "loop/proposers/standard.h"

#include <algorithm>

#include "base/error.h"
#include "ledger/session_store.h"
#include "loop/proposers/command_proposer.h"
#include "loop/proposers/patterns_proposer.h"
#include "loop/proposers/variants.h"
#include "loop/search/prune.h"
#include "loop/search/search.h"
#include "workers/resources.h"

namespace dent {

std::unique_ptr<Proposer> standard_proposer(const Project& project) {
  const auto& named = project.optimize.proposers;
  const auto wanted = [&](const char* name, bool has_work) {
    return has_work && (named.empty() || std::find(named.begin(), named.end(), name) != named.end());
  };
  std::vector<std::unique_ptr<Proposer>> own;
  const bool has_choices = !project.variants.empty() || !project.tunables.empty();
  if (wanted("variants", !project.variants.empty())) own.push_back(std::make_unique<VariantsProposer>());
  if (wanted("search", !project.tunables.empty()))
    own.push_back(std::make_unique<SearchProposer>(foreseen_failure));
  std::vector<std::unique_ptr<Proposer>> proposers;
  if (wanted("command", !project.optimize.command.empty())) {
    proposers.push_back(std::make_unique<CommandProposer>(
        project.optimize.command, CommandLimits{.seconds = project.optimize.command_seconds},
        SessionStore(project.directory).folder() / "command", files_of_dent(find_resources()),
        command_cell(project)));
  }
  // Who has a program with ideas wants them tried first.
  const bool command_last = !named.empty() && named.front() != "command";
  if (!own.empty()) {
    proposers.insert(command_last ? proposers.begin() : proposers.end(),
                     std::make_unique<ByPhase>(std::move(own)));
  }
  // What the diagnosis points to goes before what is merely next.
  if (wanted("patterns", has_choices))
    proposers.insert(proposers.begin(), std::make_unique<PatternsProposer>());
  if (proposers.empty()) {
    throw Error(ErrorCode::invalid, "dent.toml gives nothing to try",
                "[tunables] with macros and their values, [[variants]] of the kernel, or optimize.command");
  }
  return std::make_unique<InTurn>(std::move(proposers));
}

}  // namespace dent

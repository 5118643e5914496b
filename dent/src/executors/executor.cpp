// SPDX-License-Identifier: MIT
#include "executors/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "executors/command.h"
#include "executors/local.h"
#include "executors/slurm.h"
#include "executors/ssh.h"

namespace dent {
namespace {

void add_missing(std::vector<ExecutorRules>& all, std::vector<ExecutorRules> more) {
  for (ExecutorRules& rules : more) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const ExecutorRules& other) { return other.name == rules.name; });
    if (!known) all.push_back(std::move(rules));
  }
}

}  // namespace

std::vector<ExecutorRules> known_executors(const Project& project) {
  std::vector<ExecutorRules> all = project.executors;
  add_missing(all, users_executors());
  add_missing(all, {{.name = "local", .kind = ExecutorKind::local, .from = "built in"}});
  return all;
}

ExecutorRules find_executor(const Project& project, const std::string& name) {
  std::vector<std::string> names;
  for (ExecutorRules& rules : known_executors(project)) {
    if (rules.name == name) return std::move(rules);
    names.push_back(rules.name);
  }
  const std::string near = did_you_mean(name, names);
  throw Error(
      ErrorCode::invalid, fmt::format("no executor \"{}\"; there are {}", name, fmt::join(names, ", ")),
      near.empty()
          ? fmt::format("describe it: [executor.{}] in dent.toml or in {}", name, user_config().string())
          : near);
}

std::unique_ptr<Executor> make_executor(const ExecutorRules& rules, const Project& project, Say say) {
  switch (rules.kind) {
    case ExecutorKind::local:
      return local_executor(rules);
    case ExecutorKind::ssh:
      return ssh_executor(rules, project, std::move(say));
    case ExecutorKind::slurm:
      return slurm_executor(rules, project);
    case ExecutorKind::command:
      return command_executor(rules, project);
  }
  throw Error(ErrorCode::internal, "an executor without a kind");
}

}  // namespace dent

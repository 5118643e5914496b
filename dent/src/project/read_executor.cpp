// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "project/executor_rules.h"
#include "project/read_optimize.h"

namespace dent {
namespace {

// What goes into file names, shell words and messages.
bool is_plain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

void read_text(StrictTable& table, const char* key, std::string& value) {
  value = table.text(key).value_or(value);
}

SlurmRules read_slurm(StrictTable table) {
  SlurmRules rules;
  read_text(table, "partition", rules.partition);
  read_text(table, "account", rules.account);
  read_text(table, "qos", rules.qos);
  read_text(table, "gres", rules.gres);
  read_text(table, "constraint", rules.constraint);
  read_text(table, "time", rules.time);
  rules.extra = table.texts("extra");
  table.done();
  return rules;
}

MachineRules read_machine(StrictTable table) {
  MachineRules rules;
  rules.status = table.required_text("status");
  rules.start = table.required_text("start");
  read_text(table, "stop", rules.stop);
  read_text(table, "running", rules.running);
  read_positive(table, "idle_minutes", rules.idle_minutes);
  read_positive(table, "start_seconds", rules.start_seconds);
  table.done();
  return rules;
}

void read_envs(StrictTable table, ExecutorRules& rules) {
  for (const std::string& key : table.keys()) {
    const bool name =
        !key.empty() && std::isdigit(static_cast<unsigned char>(key.front())) == 0 &&
        std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (!name) table.fail(key, "is no name of an environment variable");
    rules.envs.emplace_back(key, table.text_or_number(key));
  }
  table.done();
}

// Keys that belong to one kind are unknown to the others, so that a wrong `kind` is noticed.
void read_keys_of_kind(StrictTable& table, ExecutorRules& rules) {
  switch (rules.kind) {
    case ExecutorKind::local:
      break;
    case ExecutorKind::ssh:
      rules.host = table.required_text("host");
      read_text(table, "ssh_config", rules.ssh_config);
      break;
    case ExecutorKind::slurm:
      read_text(table, "host", rules.host);
      read_text(table, "ssh_config", rules.ssh_config);
      if (auto slurm = table.table("slurm")) rules.slurm = read_slurm(std::move(*slurm));
      rules.slurm.slots = read_count(table, "slots", rules.slurm.slots);
      read_positive(table, "idle_seconds", rules.slurm.idle_seconds);
      break;
    case ExecutorKind::command:
      rules.start = table.required_text("start");
      read_text(table, "copy", rules.copy);
      read_text(table, "follow", rules.follow);
      read_text(table, "cancel", rules.cancel);
      read_text(table, "state", rules.state);
      read_text(table, "bring_back", rules.bring_back);
      if (rules.start.find("{command}") == std::string::npos)
        table.fail("start", "has no {command} in it", "start = \"sky exec my-cluster -- {command}\"");
      if (!rules.follow.empty() && rules.state.empty())
        table.fail("follow", "has no `state` beside it, which says when the job has ended",
                   "state = \"kubectl get job/my-job ...\"");
      break;
  }
  if (rules.kind == ExecutorKind::local) return;
  read_text(table, "workdir", rules.workdir);
  read_text(table, "dent", rules.dent);
}

ExecutorRules read_executor(StrictTable& executors, const std::string& name, const std::string& from) {
  if (!executors.is_table(name) || !is_plain(name)) {
    executors.fail(name, "must be a table whose name has letters, digits, - _ and . alone",
                   "[executor.gpu-box]\nkind = \"ssh\"\nhost = \"gpu-box\"");
  }
  StrictTable table = *executors.table(name);
  ExecutorRules rules;
  rules.name = name;
  rules.from = from;
  const std::string kind = table.required_text("kind");
  const auto known = parse_word<ExecutorKind>(kind);
  if (!known) table.fail("kind", "is \"" + kind + "\"; accepted are local, ssh, slurm, command");
  rules.kind = *known;
  read_keys_of_kind(table, rules);
  read_text(table, "setup", rules.setup);
  if (auto envs = table.table("envs")) read_envs(std::move(*envs), rules);
  read_text(table, "accelerators", rules.accelerators);
  rules.use_spot = table.flag("use_spot").value_or(false);
  read_positive(table, "usd_per_hour", rules.usd_per_hour);
  if (auto machine = table.table("machine")) rules.machine = read_machine(std::move(*machine));
  table.done();
  return rules;
}

}  // namespace

std::vector<ExecutorRules> read_executors(StrictTable& root, const std::string& from) {
  std::vector<ExecutorRules> all;
  if (auto executors = root.table("executor")) {
    for (const std::string& name : executors->keys()) all.push_back(read_executor(*executors, name, from));
  }
  return all;
}

std::filesystem::path user_config() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  const std::filesystem::path config = variable("XDG_CONFIG_HOME");
  return (config.is_absolute() ? config : variable("HOME") / ".config") / "dent" / "config.toml";
}

std::vector<ExecutorRules> users_executors() {
  const std::filesystem::path file = user_config();
  const auto text = dent::read_text(file);
  if (!text) return {};
  StrictTable root = StrictTable::parse(*text, file.string());
  std::vector<ExecutorRules> all = read_executors(root, file.string());
  root.done();
  return all;
}

}  // namespace dent

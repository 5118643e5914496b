// SPDX-License-Identifier: MIT
// [executor.NAME]: a place where work can be done, as dent.toml or the user's own config describes it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/words.h"
#include "project/strict_table.h"

namespace dent {

enum class ExecutorKind { local, ssh, slurm, command };
inline constexpr Word<ExecutorKind> kExecutorKindWords[] = {{ExecutorKind::local, "local"},
                                                            {ExecutorKind::ssh, "ssh"},
                                                            {ExecutorKind::slurm, "slurm"},
                                                            {ExecutorKind::command, "command"}};
constexpr std::span<const Word<ExecutorKind>> words(ExecutorKind) { return kExecutorKindWords; }

// Under Slurm's own names.
struct SlurmRules {
  std::string partition{}, account{}, qos{}, gres{}, constraint{}, time{};
  std::vector<std::string> extra{};  // more options of sbatch, word by word
  // Of ours: at most so many of Slurm's jobs at a time, and how long each keeps its GPU for the next job of
  // dent's.
  int slots = 16;
  double idle_seconds = 30;
};

// A machine that is started when it is needed and stopped when it is idle. Shell commands, run here.
struct MachineRules {
  std::string status{};  // prints a word; `running` says which one means that it is up
  std::string running = "RUNNING";
  std::string start{};
  std::string stop{};
  double idle_minutes = 15;
  double start_seconds = 300;  // that a start may take
};

struct ExecutorRules {
  std::string name{};
  ExecutorKind kind = ExecutorKind::local;
  std::string from{};  // the file that it stands in

  std::string host{};        // ssh, slurm: as the user's ssh config knows it. slurm: empty for this machine
  std::string ssh_config{};  // a file in the place of the user's own
  std::string workdir{};     // folder there; empty: ~/.cache/dent
  std::string dent{};        // the program there; empty: it is brought along
  std::string setup{};       // a shell command before each job, in the project's folder there
  std::vector<std::pair<std::string, std::string>> envs{};
  std::string accelerators{};  // "L4:1"
  bool use_spot = false;
  double usd_per_hour = 0;

  std::string start{}, copy{}, follow{}, cancel{}, state{}, bring_back{};  // command: templates

  SlurmRules slurm{};
  std::optional<MachineRules> machine{};
};

// The executors of a manifest or of a config: table `executor` of the root. `from`: the file, for messages.
std::vector<ExecutorRules> read_executors(StrictTable& root, const std::string& from);

// $XDG_CONFIG_HOME/dent/config.toml, else ~/.config/dent/config.toml.
std::filesystem::path user_config();
// Those of the user's config; none where there is no such file. Throws Error for what can't be right in it.
std::vector<ExecutorRules> users_executors();

}  // namespace dent

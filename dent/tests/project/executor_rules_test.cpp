// SPDX-License-Identifier: MIT
#include "project/executor_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace dent::executor_rules_test {
namespace {

std::vector<ExecutorRules> parse(const std::string& text) {
  StrictTable root = StrictTable::parse(text);
  auto all = read_executors(root, "dent.toml");
  root.done();
  return all;
}

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "no error";
}

TEST(ExecutorRules, AllKindsWithTheirKeys) {
  const auto all = parse(
      "[executor.l4-dev]\nkind = \"ssh\"\nhost = \"l4-dev\"\nworkdir = \"work\"\nsetup = \"true\"\n"
      "envs = { A = \"b c\", N = 3 }\naccelerators = \"L4:1\"\nuse_spot = true\nusd_per_hour = 0.7\n"
      "[executor.l4-dev.machine]\nstatus = \"status\"\nstart = \"start\"\nstop = \"stop\"\nidle_minutes = 5\n"
      "[executor.cluster]\nkind = \"slurm\"\nslurm = { partition = \"gpu\", gres = \"gpu:1\", time = \"30\", "
      "extra = [\"--nice\"] }\nslots = 4\nidle_seconds = 2.5\n"
      "[executor.sky]\nkind = \"command\"\nstart = \"sky exec c1 -- {command}\"\n"
      "[executor.here]\nkind = \"local\"\n");
  ASSERT_EQ(all.size(), 4U);
  for (const ExecutorRules& rules : all) {
    if (rules.name == "l4-dev") {
      EXPECT_EQ(rules.kind, ExecutorKind::ssh);
      EXPECT_EQ(rules.envs, (std::vector<std::pair<std::string, std::string>>{{"A", "b c"}, {"N", "3"}}));
      ASSERT_TRUE(rules.machine);
      EXPECT_EQ(rules.machine->idle_minutes, 5);
      EXPECT_EQ(rules.machine->running, "RUNNING");
      EXPECT_TRUE(rules.use_spot);
      EXPECT_EQ(rules.usd_per_hour, 0.7);
    }
    if (rules.name == "cluster") {
      EXPECT_EQ(rules.slurm.partition, "gpu");
      EXPECT_EQ(rules.slurm.extra, std::vector<std::string>{"--nice"});
      EXPECT_EQ(rules.slurm.slots, 4);
      EXPECT_EQ(rules.slurm.idle_seconds, 2.5);
    }
  }
}

TEST(ExecutorRules, MistakesAreNamedWithLineAndRemedy) {
  const struct {
    const char* text;
    const char* says;
  } mistakes[] = {
      {"[executor.a]\nhost = \"x\"\n", "executor.a.kind: is missing"},
      {"[executor.a]\nkind = \"ssg\"\n", "accepted are local, ssh, slurm, command"},
      {"[executor.a]\nkind = \"ssh\"\n", "executor.a.host: is missing"},
      {"[executor.a]\nkind = \"local\"\nhost = \"x\"\n", "executor.a.host: no such key"},
      {"[executor.a]\nkind = \"ssh\"\nhost = \"x\"\nworkdri = \"y\"\n", "did you mean \"workdir\"?"},
      {"[executor.a]\nkind = \"command\"\nstart = \"sky exec\"\n", "has no {command} in it"},
      {"[executor.a]\nkind = \"command\"\nstart = \"{command}\"\nfollow = \"x\"\n", "no `state` beside it"},
      {"[executor.a]\nkind = \"slurm\"\nslots = 0\n", "slots"},
      {"[executor.a]\nkind = \"slurm\"\nslots = 1.5\n", "must be a whole number"},
      {"[executor.a]\nkind = \"slurm\"\nidle_seconds = -1\n", "idle_seconds"},
      {"[executor.a]\nkind = \"ssh\"\nhost = \"x\"\nslots = 2\n", "executor.a.slots: no such key"},
      {"[executor.'a b']\nkind = \"local\"\n", "letters, digits"},
      {"[executor]\na = 3\n", "must be a table"},
      {"[executor.a]\nkind = \"local\"\nenvs = { 'A-B' = \"c\" }\n", "is no name of an environment variable"},
      {"[executor.a]\nkind = \"local\"\n[executor.a.machine]\nstatus = \"x\"\n", "start: is missing"},
      {"[executor.a]\nkind = \"local\"\nusd_per_hour = -1\n", "usd_per_hour"},
  };
  for (const auto& [text, says] : mistakes)
    EXPECT_NE(error_of(text).find(says), std::string::npos) << text << error_of(text);
}

TEST(ExecutorRules, TheUsersConfigIsWhereXdgSaysIt) {
  setenv("XDG_CONFIG_HOME", "/nowhere/config", 1);
  EXPECT_EQ(user_config(), "/nowhere/config/dent/config.toml");
  EXPECT_TRUE(users_executors().empty());
  unsetenv("XDG_CONFIG_HOME");
  EXPECT_TRUE(user_config().string().ends_with("/.config/dent/config.toml"));
}

}  // namespace
}  // namespace dent::executor_rules_test

// SPDX-License-Identifier: MIT
// What every command of dent has: a help with an example, and mistakes that end with 2 and say what to try.
#include <gtest/gtest.h>

#include <sstream>

#include "session/dent_program.h"

namespace dent::test::usage_test {
namespace {

Ran dent(const std::string& arguments) {
  const ScratchProject scratch;
  const std::string line = std::string("'") + DENT_PROGRAM + "' " + arguments + " >'" +
                           (scratch.folder() / "stdout").string() + "' 2>'" +
                           (scratch.folder() / "stderr").string() + "'";
  const Finished finished = run({.argv = {"/bin/sh", "-c", line}}, 60);
  return {finished.ending.kind == Ending::Kind::exited ? finished.ending.code : -1, scratch.read("stdout"),
          scratch.read("stderr")};
}

// As `dent --help` lists them.
std::vector<std::string> commands() {
  std::istringstream help(dent("--help").out);
  std::vector<std::string> names;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (listed && line.empty()) break;
    if (listed) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    if (line == "Subcommands:") listed = true;
  }
  return names;
}

TEST(Usage, EveryCommandHasAHelpWithAnExample) {
  const auto names = commands();
  ASSERT_GE(names.size(), 20U);
  for (const std::string& name : names) {
    const Ran ran = dent(name + " --help");
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_NE(ran.out.find("Usage: dent " + name), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("Examples:\n  "), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("dent " + name, ran.out.find("Examples:")), std::string::npos) << ran.out;
  }
}

TEST(Usage, CompletionKnowsEveryCommand) {
  const Ran ran = dent("completion bash");
  EXPECT_EQ(ran.code, 0);
  for (const std::string& name : commands()) {
    EXPECT_NE(ran.out.find("    " + name + ") words=\"--help"), std::string::npos) << name;
  }
  EXPECT_NE(dent("completion zsh").out.find("bashcompinit"), std::string::npos);
}

TEST(Usage, MistakesEndWithTwoAndSayWhatToTry) {
  for (const char* line : {"", "rnu", "--nonsense", "run --nonsense", "compare", "log -n many",
                           "completion fish", "predict --cluster 17", "mcp -p /no/such/folder"}) {
    const Ran ran = dent(line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_EQ(ran.out, "") << line;
    if (*line == '\0') continue;  // the whole help
    EXPECT_EQ(ran.err.rfind("error: ", 0), 0U) << ran.err;
    EXPECT_NE(ran.err.find("\n  try: dent "), std::string::npos) << ran.err;
  }
}

TEST(Usage, WhatToDoNextCanBePastedIntoAShell) {
  const ScratchProject scratch;
  const std::string folder = (scratch.folder() / "my first kernel").string();
  const Ran ran = dent("init custom '" + folder + "'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("next: dent run -p '" + folder + "'\n"), std::string::npos) << ran.out;
}

TEST(Usage, AMistakeWithJsonIsADocumentToo) {
  const Ran ran = dent("rnu --json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.out.find("\"command\": \"rnu\""), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("did you mean \\\"run\\\"?"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\"exit_code\": 2"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace dent::test::usage_test

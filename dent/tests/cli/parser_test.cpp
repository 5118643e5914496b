// SPDX-License-Identifier: MIT
#include "cli/parser.h"

#include <gtest/gtest.h>

namespace dent::cli::parser_test {
namespace {

// A program with two commands, one of which has one below it.
class ParserTest : public testing::Test {
 protected:
  ParserTest() {
    Command& list = parser_.root().command("list", "List things");
    list.option("-n,--most", most_, "How many").show_default();
    list.option("--kind", kinds_, "Of these kinds").split_at(',').group("filter");
    list.option("--ratio", ratio_, "At least");
    list.flag("--json", json_, "As JSON");
    list.examples("  tool list -n 5");
    list.run([this] { return ran_ = "list", ExitCode::ok; });
    Command& add = list.command("add", "Add a thing");
    add.option("--name", name_, "Its name").required();
    add.option("--size", size_, "Its size").between(1, 16);
    add.option("--colour", colour_, "Its colour").one_of({"red", "blue"});
    resume_.emplace(add.option("--resume", session_, "Go on").value_optional());
    add.run([this] { return ran_ = "add", ExitCode::slower; });
    Command& open = parser_.root().command("open", "Open a folder");
    open.option("folder", folder_, "Which").existing_folder();
    open.run([this] { return ran_ = "open", ExitCode::ok; });
  }

  ExitCode run(std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    return parser_.parse(static_cast<int>(words.size()), words.data())();
  }
  std::string usage_error(const std::vector<const char*>& words) {
    try {
      run(words);
    } catch (const UsageError& problem) {
      return problem.what();
    }
    return "no error";
  }

  std::size_t most_ = 20;
  std::vector<std::string> kinds_;
  std::optional<double> ratio_;
  bool json_ = false;
  std::string name_, colour_ = "red", session_ = "latest", folder_, ran_;
  int size_ = 1;
  std::optional<Option> resume_;
  Parser parser_{"tool", "A tool", "tool 1.0", "The end."};
};

TEST_F(ParserTest, RunsTheCommandThatWasNamedWithItsOptions) {
  EXPECT_EQ(run({"list", "-n", "5", "--kind", "a,b", "--kind", "c", "--json"}), ExitCode::ok);
  EXPECT_EQ(ran_, "list");
  EXPECT_EQ(most_, 5U);
  EXPECT_EQ(kinds_, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(json_);
  EXPECT_FALSE(ratio_);
}

TEST_F(ParserTest, RunsTheInnermostCommandAndGivesItsExitCode) {
  EXPECT_EQ(run({"list", "add", "--name", "x"}), ExitCode::slower);
  EXPECT_EQ(ran_, "add");
  EXPECT_FALSE(resume_->given());
}

TEST_F(ParserTest, AnOptionWhoseValueMayBeLeftOutSaysThatItWasGiven) {
  run({"list", "add", "--name", "x", "--resume"});
  EXPECT_TRUE(resume_->given());
  EXPECT_EQ(session_, "");
  run({"list", "add", "--name", "x", "--resume", "42"});
  EXPECT_EQ(session_, "42");
}

TEST_F(ParserTest, ErrorsNameWhatIsWrongAndWhatToTry) {
  EXPECT_EQ(usage_error({"lsit"}),
            "no command is called \"lsit\"; did you mean \"list\"?\n  try: tool --help");
  EXPECT_EQ(usage_error({"zebra"}), "no command is called \"zebra\"\n  try: tool --help");
  EXPECT_EQ(usage_error({"list", "ad"}),
            "no command is called \"ad\"; did you mean \"add\"?\n  try: tool list --help");
  for (const auto& [words, named] : std::vector<std::pair<std::vector<const char*>, const char*>>{
           {{"list", "--nonsense"}, "--nonsense"},
           {{"list", "-n", "x"}, "--most"},
           {{"list", "--ratio", "fast"}, "--ratio"},
           {{"list", "add"}, "--name is required"},
           {{"list", "add", "--name", "x", "--size", "17"}, "17"},
           {{"list", "add", "--name", "x", "--colour", "green"}, "green"},
           {{"open", "/no/such/folder"}, "/no/such/folder"}}) {
    const std::string text = usage_error(words);
    EXPECT_NE(text.find(named), std::string::npos) << text;
    const std::string command = std::string(words[0]) + (words[1] == std::string("add") ? " add" : "");
    EXPECT_NE(text.find("\n  try: tool " + command + " --help"), std::string::npos) << text;
  }
  EXPECT_EQ(ran_, "") << "an error runs nothing";
}

TEST_F(ParserTest, HelpShowsDefaultsGroupsAndExamples) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"list", "--help"}), ExitCode::ok);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const char* part : {"List things", "-n,--most UINT=20", "\nfilter:", "--kind TEXT", "--ratio FLOAT",
                           "Examples:\n  tool list -n 5"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " is not in\n" << help;
  }
  EXPECT_EQ(ran_, "");
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--version"}), ExitCode::ok);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "tool 1.0\n");
}

TEST_F(ParserTest, NothingAtAllShowsTheHelpOnStderr) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({}), ExitCode::usage);
  const std::string help = testing::internal::GetCapturedStderr();
  EXPECT_NE(help.find("open "), std::string::npos);
  EXPECT_NE(help.find("The end."), std::string::npos);
}

TEST_F(ParserTest, CompletionCanWalkTheCommands) {
  const auto& commands = parser_.root().commands();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0]->name(), "list");
  EXPECT_EQ(commands[0]->long_options(), (std::vector<std::string>{"help", "most", "kind", "ratio", "json"}));
  EXPECT_EQ(commands[0]->commands()[0]->name(), "add");
}

}  // namespace
}  // namespace dent::cli::parser_test

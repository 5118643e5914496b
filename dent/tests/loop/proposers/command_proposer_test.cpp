// SPDX-License-Identifier: MIT
// Programs as proposers, good ones and bad ones, in a real worktree of a real repository.
#include "loop/proposers/command_proposer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "cell/bubblewrap.h"
#include "records/json.h"
#include "system/capture.h"

namespace dent::command_proposer_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSays = R"("bottleneck":"idle cores","change":"two threads","expected":"2x")";

std::string echo(const std::string& fields) { return "echo '{" + fields + "}'"; }

class CommandProposerTest : public ::testing::Test {
 protected:
  CommandProposerTest() {
    static int count = 0;
    top_ = fs::temp_directory_path() /
           ("dent proposer " + std::to_string(getpid()) + "-" + std::to_string(count++));
    project_.directory = top_ / "repository" / "my kernel";
    fs::create_directories(project_.directory);
    write(project_.directory / "kernel.cpp", "int tile = 1;\n");
    write(project_.directory / "dent.toml", "version = 1\n");
    write(project_.directory / "reference.py", "right\n");
    git({"init", "-q"});
    git({"add", "-A"});
    git({"-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "first"});
    fs::create_directories(project_.directory / ".dent/sessions/1");
    write(project_.directory / ".dent/sessions/1/ledger.jsonl", "{}\n");
    const fs::path worktree = project_.directory / ".dent/worktrees/1";
    git({"worktree", "add", "-q", "--detach", worktree.string()});
    brief_.project = &project_;
    brief_.goal = "twice as fast";
    brief_.allowed_files = {"*.cpp"};
    brief_.protected_files = {"dent.toml", "reference.py"};
    brief_.worktree = worktree / "my kernel";
    brief_.phase = Phase::memory;
  }
  ~CommandProposerTest() override {
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }

  void git(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"git", "-C", (top_ / "repository").string()});
    ASSERT_TRUE(capture(arguments, 20)) << arguments[3];
  }
  static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
  std::string in_worktree(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(brief_.worktree / name).rdbuf();
    return text.str();
  }

  std::optional<Proposal> propose(const std::string& command, CommandLimits limits = {.seconds = 20}) {
    return CommandProposer(command, limits, project_.directory / ".dent/command", {top_ / "own"})
        .propose(brief_);
  }
  // What the proposal is refused for; "" when it is not.
  std::string refusal(const std::string& command, CommandLimits limits = {.seconds = 20}) {
    const auto proposal = propose(command, limits);
    return proposal ? proposal->refusal : "no more ideas";
  }

  fs::path top_;
  Project project_;
  Brief brief_;
};

// In its cell it can do what it is there for, and nothing of what is found out afterwards without one.
TEST_F(CommandProposerTest, InACellItReachesTheWorktreeOnly) {
  if (!bubblewrap().why_not.empty()) GTEST_SKIP() << bubblewrap().why_not;
  write(top_ / "key", "a secret\n");
  setenv("SECRET_OF_THE_TEST", "a token", 1);
  const std::string ledger = (project_.directory / ".dent/sessions/1/ledger.jsonl").string();
  const std::string command = "test -z \"$SECRET_OF_THE_TEST\" || exit 3; cat '" + (top_ / "key").string() +
                              "' && exit 4; (echo forged >> '" + ledger + "') && exit 5; (echo x > '" +
                              (project_.directory / "reference.py").string() +
                              "') && exit 6; grep -q 'twice as fast' && sed -i s/1/2/ kernel.cpp && " +
                              echo(std::string(kSays) + R"(,"files":["kernel.cpp"])");
  EXPECT_NE(refusal(command).find("exited with status 3"), std::string::npos) << refusal(command);

  const auto in_its_cell = [&] {
    return CommandProposer(command, {.seconds = 20}, project_.directory / ".dent/command", {top_ / "own"},
                           command_cell(project_))
        .propose(brief_)
        .value();
  };
  EXPECT_EQ(in_its_cell().refusal, "");
  EXPECT_EQ(in_worktree("kernel.cpp"), "int tile = 2;\n");

  project_.optimize.command_env = {"SECRET_OF_THE_TEST"};
  EXPECT_NE(in_its_cell().refusal.find("exited with status 3"), std::string::npos);
  project_.optimize.command_env.clear();
  project_.optimize.command_paths = {"../../key"};
  EXPECT_NE(in_its_cell().refusal.find("exited with status 4"), std::string::npos);
}

TEST_F(CommandProposerTest, GetsTheBriefEditsAnAllowedFileAndSaysWhatItExpects) {
  const auto proposal = propose(
      "grep -q 'twice as fast' && grep -q 'twice as fast' \"$DENT_BRIEF\" && sed -i s/1/2/ kernel.cpp && " +
      echo(std::string(kSays) +
           R"(,"files":["kernel.cpp"],"usd":0.25,"input_tokens":5000,"output_tokens":300)"));
  ASSERT_TRUE(proposal);
  EXPECT_EQ(proposal->refusal, "");
  EXPECT_EQ(proposal->proposer, "command");
  EXPECT_EQ(proposal->hypothesis.bottleneck, "idle cores");
  EXPECT_EQ(proposal->hypothesis.change, "two threads");
  EXPECT_EQ(proposal->hypothesis.expected, "2x");
  EXPECT_EQ(proposal->phase, Phase::memory);
  ASSERT_TRUE(proposal->source);
  EXPECT_EQ(proposal->source->files, std::vector<std::string>{"kernel.cpp"});
  EXPECT_EQ(in_worktree("kernel.cpp"), "int tile = 2;\n");
  EXPECT_EQ(proposal->spend.usd, 0.25);
  EXPECT_EQ(proposal->spend.input_tokens, 5000);
  EXPECT_EQ(proposal->spend.output_tokens, 300);
  EXPECT_GT(proposal->spend.seconds, 0);
}

TEST_F(CommandProposerTest, ProposesATunableOrAVariant) {
  const auto tunable = propose(echo(std::string(kSays) + R"(,"tunable":"WARPS","value":4,"phase":"tuning")"));
  ASSERT_TRUE(tunable && tunable->assignment);
  EXPECT_EQ(tunable->assignment->tunable, "WARPS");
  EXPECT_EQ(tunable->assignment->value, "4");
  EXPECT_EQ(tunable->phase, Phase::tuning);
  const auto variant = propose(echo(std::string(R"("hypothesis":{)") + kSays + R"(},"variant":"split")"));
  ASSERT_TRUE(variant && variant->variant);
  EXPECT_EQ(*variant->variant, "split");
  EXPECT_EQ(variant->hypothesis.expected, "2x");
}

TEST_F(CommandProposerTest, MayThinkAloudAndAnswerAtTheEndOrInAFile) {
  const auto aloud =
      propose("echo 'thinking {hard}'; echo '{\"draft\": 1}'; " + echo(R"("variant":"split","change":"c")"));
  ASSERT_TRUE(aloud && aloud->variant);
  const auto file =
      propose("echo noise; " + echo(R"("variant":"split","change":"c")") + " > \"$DENT_ANSWER\"");
  ASSERT_TRUE(file && file->variant);
}

TEST_F(CommandProposerTest, CanNotDeclareAResult) {
  const auto proposal = propose(
      echo(std::string(kSays) + R"(,"variant":"split","speedup":100,"verdict":"FASTER","kept":true)"));
  ASSERT_TRUE(proposal);
  const std::string record = to_json_text(*proposal);
  for (const char* claim : {"speedup", "verdict", "FASTER", "kept"})
    EXPECT_EQ(record.find(claim), std::string::npos) << record;
}

TEST_F(CommandProposerTest, HasNoMoreIdeasWhenItSaysSoOrAfterThreeRefusals) {
  const auto last = propose(echo(R"("done":true,"reason":"all tried","usd":0.5)"));
  ASSERT_TRUE(last);  // once more, so that what the question took is booked
  EXPECT_EQ(last->refusal, "no more ideas: all tried");
  EXPECT_TRUE(last->done);
  EXPECT_EQ(last->spend.usd, 0.5);
  PastIteration past;
  past.proposal = *last;
  brief_.history = {past};
  EXPECT_FALSE(propose(echo(kSays)));
  past = {};
  past.proposal.proposer = "command";
  past.outcome.stage = TrialStage::refused;
  brief_.history = {past, past};
  EXPECT_TRUE(propose(echo(kSays)));
  brief_.history.push_back(past);
  EXPECT_FALSE(propose(echo(kSays)));
  brief_.history.back().outcome.stage = TrialStage::screening;
  EXPECT_TRUE(propose(echo(kSays)));
}

TEST_F(CommandProposerTest, IsRefusedWhenItsAnswerMakesNoSense) {
  EXPECT_NE(refusal("echo I made it faster").find("no JSON object: I made it faster"), std::string::npos);
  EXPECT_NE(refusal("echo oh no >&2; exit 3").find("exited with status 3; it said: oh no"),
            std::string::npos);
  EXPECT_NE(refusal(echo(R"("files":[1])")).find("list of paths"), std::string::npos);
  EXPECT_NE(refusal("/no/such/agent").find("status 127"), std::string::npos);
}

// A negative bill is none.
TEST_F(CommandProposerTest, BooksNothingBelowZero) {
  const auto proposal =
      propose(echo(std::string(kSays) + R"(,"variant":"split","usd":-5,"input_tokens":"many")"));
  ASSERT_TRUE(proposal);
  EXPECT_EQ(proposal->spend.usd, 0);
  EXPECT_EQ(proposal->spend.input_tokens, 0);
}

TEST_F(CommandProposerTest, IsStoppedAtItsTimeLimitWithAllThatItStarted) {
  const fs::path mark = top_ / "mark";
  const std::string late = "(sleep 2; touch '" + mark.string() + "')";
  EXPECT_NE(
      refusal(late + " & setsid sh -c \"" + late + "\" & sleep 60", {.seconds = 0.5}).find("time limit"),
      std::string::npos);
  std::this_thread::sleep_for(std::chrono::milliseconds(2300));
  EXPECT_FALSE(fs::exists(mark));
}

TEST_F(CommandProposerTest, TheBudgetThatIsLeftLimitsItsTime) {
  brief_.left.seconds = 0.3;
  EXPECT_NE(refusal("sleep 60").find("time limit"), std::string::npos);
}

TEST_F(CommandProposerTest, IsStoppedWhenItPrintsTooMuch) {
  EXPECT_NE(refusal("while true; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaa; done",
                    {.seconds = 20, .output_bytes = 1 << 16})
                .find("more than 65536 bytes"),
            std::string::npos);
}

TEST_F(CommandProposerTest, IsRefusedWhenItTouchesWhatItMayNot) {
  write(top_ / "own", "dent itself");
  const std::string answer = "; " + echo(std::string(kSays) + R"(,"variant":"split")");
  const std::string user = "'" + project_.directory.string() + "'";
  for (const auto& [command, named] : std::vector<std::pair<std::string, std::string>>{
           {"echo 'version = 2' > dent.toml", "changed " + (brief_.worktree / "dent.toml").string()},
           {"rm reference.py", "removed "},
           {"echo x > notes.txt", "added "},
           {"chmod 777 dent.toml", "changed "},
           {"rm dent.toml; ln -s /etc/passwd dent.toml", "dent.toml"},
           {"echo x > ../README", "README"},
           {"echo '{}' >> " + user + "/.dent/sessions/1/ledger.jsonl", "ledger.jsonl"},
           {"echo x >> " + user + "/kernel.cpp", "my kernel/kernel.cpp"},
           {"git branch -q sneaky", "refs/heads/sneaky"},
           {"echo x > '" + (top_ / "own").string() + "'", "own"}}) {
    EXPECT_NE(refusal(command + answer).find("touched what it may not: "), std::string::npos) << command;
    EXPECT_NE(refusal(command + answer + "; touch undo").find("it may not"), std::string::npos);
    capture({"git", "-C", brief_.worktree.string(), "reset", "-q", "--hard"}, 20);
    capture({"git", "-C", brief_.worktree.string(), "clean", "-qfd", ".."}, 20);
  }
}

TEST_F(CommandProposerTest, DentIsAllThatItsPythonWorkerImports) {
  const fs::path share = top_ / "share/dent";
  fs::create_directories(share);
  for (const char* name : {"dent_worker.py", "dent_cuda_graph.py"}) write(share / name, "pass\n");
  const Resources own{.native_worker = top_ / "dent-worker",
                      .oracle = top_ / "dent-oracle",
                      .python_worker = share / "dent_worker.py",
                      .include = share / "include",
                      .diagnose = share / "diagnose",
                      .patterns = share / "patterns"};
  for (const char* change :
       {"echo x >> dent_worker.py", "echo x >> dent_cuda_graph.py", "echo x > numpy.py"}) {
    const std::string command = "(cd '" + share.string() + "' && " + change + "); ";
    CommandProposer proposer(command + echo(std::string(kSays) + R"(,"variant":"split")"), {.seconds = 20},
                             project_.directory / ".dent/command", files_of_dent(own));
    const auto proposal = proposer.propose(brief_);
    ASSERT_TRUE(proposal);
    EXPECT_NE(proposal->refusal.find("touched what it may not: "), std::string::npos) << change;
  }
}

// Also when it covers its tracks by setting the time of the last change back.
TEST_F(CommandProposerTest, NoticesAChangeThatHidesItself) {
  const std::string command =
      "touch -r dent.toml /tmp/dent-test-time-$$; echo 'version = 9' > dent.toml; touch -r "
      "/tmp/dent-test-time-$$ dent.toml; "
      "rm /tmp/dent-test-time-$$; ";
  EXPECT_NE(refusal(command + echo(std::string(kSays) + R"(,"variant":"split")")).find("dent.toml"),
            std::string::npos);
}

TEST_F(CommandProposerTest, LookingIsNoTouching) {
  EXPECT_EQ(refusal("cat dent.toml reference.py >&2; touch dent.toml; git status >&2; " +
                    echo(std::string(kSays) + R"(,"variant":"split")")),
            "");
}

}  // namespace
}  // namespace dent::command_proposer_test

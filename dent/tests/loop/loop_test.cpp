// SPDX-License-Identifier: MIT
// dent optimize on a real project in a real repository, with its tree in every state that a tree can
// be in.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "loop/loop_project.h"

namespace dent::loop_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::expect_a_finished_loop;
using test::expect_nothing_stays_in;
using test::kKernel;
using test::kTunables;
using test::Repository;
using test::ScratchProject;
using test::wait_for_the_lock;

TEST(Optimize, ClimbsKeepsCommitsAndLeavesTheTreeAlone) {
  const Repository project(kTunables);
  project.make_dirty();
  const auto before = project.everything();
  const auto ran = project.dent({"optimize", "-q", "--json", "-n", "6"}, 600);
  ASSERT_EQ(ran.code, 0) << project.outcomes() << ran.json().value("reason", ran.out) << ran.err;
  const json result = ran.json();
  EXPECT_EQ(result.at("verdict"), "FASTER");
  EXPECT_EQ(result.at("choice").at("tunables").at("SPIN"), "1") << project.outcomes();
  EXPECT_GT(result.at("speedup").get<double>(), 4);
  EXPECT_EQ(project.changes_since(before), "");
  EXPECT_NE(result.at("next").get<std::string>().find("git apply"),
            std::string::npos);  // git can't merge that
  expect_a_finished_loop(project);

  const std::string branch = result.at("branch");
  EXPECT_EQ(project.git({"rev-parse", branch}), result.at("commit").get<std::string>() + "\n");
  EXPECT_NE(project.git({"show", branch + ":tuned.toml"}).find("SPIN = '1'"), std::string::npos)
      << project.git({"show", branch + ":tuned.toml"});
  EXPECT_EQ(project.git({"show", branch + ":changed.txt"}),
            "2\n");  // what was measured was the tree as it lay there

  // Every candidate's patch is kept, those that were dropped too.
  const LoopState state = state_of(project.records());
  EXPECT_GE(state.iterations.size(), 3U);
  const fs::path artifacts = fs::path(result.at("folder").get<std::string>()) / "artifacts";
  bool wrong_seen = false, unread_seen = false;
  for (const Iteration& iteration : state.iterations) {
    EXPECT_TRUE(fs::file_size(artifacts / iteration.patch) > 0) << iteration.patch;
    EXPECT_FALSE(iteration.proposal.hypothesis.expected.empty());
    wrong_seen = wrong_seen || iteration.outcome->stage == TrialStage::correctness;
    unread_seen = unread_seen || iteration.outcome->reason.find("same program") != std::string::npos;
  }
  EXPECT_TRUE(wrong_seen);
  EXPECT_TRUE(unread_seen);

  // The winner's patch does in the user's tree what it did in the loop.
  project.git({"apply", (artifacts / "winner.patch").string()});
  const auto checked = project.dent({"run", "-q", "--json", "--shape", "small", "--rebaseline"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_EQ(checked.json().at("verdict"), "FASTER");
}

TEST(Optimize, GoesOnAfterKillsAtRandomAndTouchesNothingOfTheUsers) {
  const Repository project(kTunables, true, true);
  project.make_dirty();
  const auto before = project.everything();
  std::mt19937 random(4);
  std::uniform_int_distribution<int> moment(20, 900);
  int kills = 0;
  bool ended = false;
  for (int attempt = 0; !ended; ++attempt) {
    ASSERT_LT(attempt, 60);
    const SessionStore store(project.folder());
    const bool begun = !store.list().empty() && fs::exists(store.find("latest").ledger()) &&
                       !read_ledger(store.find("latest").ledger()).records.empty();
    const std::vector<std::string> arguments = begun ? std::vector<std::string>{"optimize", "-q", "--resume"}
                                                     : std::vector<std::string>{"optimize", "-q", "-n", "4"};
    // dent alone: all that it started must go by itself
    ended =
        project.run_for(arguments, attempt < 12 ? moment(random) : 60000, ScratchProject::Kill::dent_alone);
    kills += ended ? 0 : 1;
    if (attempt % 2 == 0) continue;  // the next one starts at once, beside what is left of this one
    wait_for_the_lock(project);
    // A worktree that was left behind goes with the next start.
    ASSERT_EQ(project.changes_since(before, false), "") << "after kill " << kills;
  }
  // Whatever ended it early stands in its log.
  EXPECT_GE(kills, 5) << std::ifstream(project.folder() / "log").rdbuf();
  EXPECT_EQ(project.changes_since(before), "");
  expect_a_finished_loop(project);
  const LoopState state = state_of(project.records());
  ASSERT_NE(state.last_kept(), nullptr) << project.outcomes();
  EXPECT_TRUE(state.incumbent().tunables.contains("SPIN"))
      << project.outcomes();  // less idle work than at first
  EXPECT_EQ(project.git({"rev-parse", state.branch}), state.incumbent_commit() + "\n");
  expect_nothing_stays_in(project.folder());
}

TEST(Optimize, AnInterruptionLeavesNothingBehind) {
  const Repository project(kTunables, true, true);
  project.make_dirty();
  const auto before = project.everything();
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(
        {.argv = project.command({"optimize", "-q", "-n", "4"}), .log = project.folder() / "log"});
    const auto has_begun = [&] {
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(project.folder() / ".dent" / "worktrees", none))
        if (fs::exists(entry.path() / "dent.toml")) return true;
      return false;
    };
    while (!process.poll() && !has_begun()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_NE(project.changes_since(before), "");  // git knows of the worktrees
    ::kill(process.id(), signal);
    const Ending ending = process.wait(30);
    EXPECT_EQ(ending.kind, Ending::Kind::exited);
    EXPECT_EQ(ending.code, signal == SIGTERM ? 14 : 128 + signal)
        << std::ifstream(project.folder() / "log").rdbuf();
    EXPECT_FALSE(fs::exists(project.folder() / ".dent" / "worktrees"));
    EXPECT_EQ(project.changes_since(before), "");
    EXPECT_NE(project.read("log").find("dent optimize --resume"), std::string::npos);
  }
  EXPECT_EQ(project.dent({"optimize", "-q", "--resume"}, 600).code, 0);
}

TEST(Optimize, AVariantIsARungAndTheTargetEndsIt) {
  const Repository project(
      "[[variants]]\nname = \"lean\"\nphase = \"compute\"\nabout = \"less idle work\"\nflags = [\"-O1\", "
      "\"-DSPIN=1\", "
      "\"-DBROKEN=0\"]\n[optimize]\ntarget = 3\n",
      false, true);  // no repository at all
  std::string manifest = project.read("dent.toml");
  manifest.replace(manifest.find("flags = [\"-O1\"]"), 15,
                   "flags = [\"-O1\", \"-DSPIN=64\", \"-DBROKEN=0\"]");
  project.write("dent.toml", manifest);
  const auto ran = project.dent({"optimize", "-q", "--json"}, 600);
  ASSERT_EQ(ran.code, 0) << project.outcomes() << ran.json().value("reason", ran.out) << ran.err;
  EXPECT_EQ(ran.json().at("choice").at("variant"), "lean");
  EXPECT_NE(ran.json().at("reason").get<std::string>().find("target reached"), std::string::npos) << ran.out;
  EXPECT_FALSE(fs::exists(project.folder() / ".git"));
}

// A program as the proposer: it meddles with the baseline, edits what it does not declare, breaks the kernel,
// and then has a good idea.
TEST(Optimize, APatchIsKeptWhenItIsProvedAndRefusedWhenItReachesTooFar) {
  const Repository project("[optimize]\ncommand = \"sh propose.sh\"\nfiles = [\"*.cpp\"]\n", true, true);
  std::string manifest = project.read("dent.toml");
  manifest.replace(manifest.find("flags = [\"-O1\"]"), 15,
                   "flags = [\"-O1\", \"-DSPIN=64\", \"-DBROKEN=0\"]");
  manifest.replace(manifest.find("[baseline.slow]\nsources = [\"kernel.cpp\"]"), 40,
                   "[baseline.slow]\nsources = [\"slow.cpp\"]");
  project.write("dent.toml", manifest);
  project.write("slow.cpp", kKernel);
  project.write(
      "propose.sh",
      "say() { echo \"{\\\"bottleneck\\\": \\\"idle work\\\", \\\"change\\\": \\\"$1\\\", \\\"expected\\\": "
      "\\\"faster\\\", "
      "\\\"files\\\": [\\\"$2\\\"], \\\"usd\\\": 0.25}\"; }\n"
      "case $(grep -o '\"iteration\": *[0-9]*' \"$DENT_BRIEF\" | grep -o '[0-9]*' | sort -n | tail -1) in\n"
      "  1) sed -i s/500/5000/ slow.cpp; say 'a slower baseline' slow.cpp ;;\n"
      "  2) sed -i s/500/8/ kernel.cpp; echo // >> other.cpp; say 'undeclared' kernel.cpp ;;\n"
      "  3) sed -i 's/2 \\* x/3 * x/' kernel.cpp; say 'wrong' kernel.cpp ;;\n"
      "  4) sed -i s/500/8/ kernel.cpp; say 'less idle work' kernel.cpp ;;\n"
      "  *) echo '{\"done\": true}' ;;\n"
      "esac\n");
  project.make_dirty();
  const auto before = project.everything();
  const auto ran = project.dent({"optimize", "-q", "--json"}, 600);
  ASSERT_EQ(ran.code, 0) << project.outcomes() << ran.json().value("reason", ran.out) << ran.err;
  EXPECT_EQ(project.changes_since(before), "");
  const LoopState state = state_of(project.records());
  ASSERT_GE(state.iterations.size(), 4U) << project.outcomes();
  EXPECT_EQ(state.iterations[0].outcome->stage, TrialStage::refused) << state.iterations[0].outcome->reason;
  EXPECT_EQ(state.iterations[1].outcome->stage, TrialStage::refused) << state.iterations[1].outcome->reason;
  EXPECT_EQ(state.iterations[2].outcome->stage, TrialStage::correctness)
      << state.iterations[2].outcome->reason;
  EXPECT_TRUE(state.iterations[3].outcome->kept) << state.iterations[3].outcome->reason;
  EXPECT_NE(project.git({"show", state.branch + ":kernel.cpp"}).find("SPIN * 8;"), std::string::npos);
  EXPECT_NE(project.git({"log", "-1", "--format=%B", state.branch}).find("Bottleneck: idle work"),
            std::string::npos);
  EXPECT_DOUBLE_EQ(ran.json().at("cost").at("usd").at("agent").get<double>(), 1.0);
  const auto cost = project.dent({"cost", "latest", "--json"});
  EXPECT_EQ(cost.json().at("sessions").at(0).at("iterations"), state.done()) << cost.out << cost.err;
}

TEST(Optimize, ABudgetEndsItCleanlyAndMoreOfItGoesOn) {
  const Repository project(
      "[tunables]\nSPIN = [64, 1]\nBROKEN = [0]\n[optimize]\ntarget = 1000\n[budget]\nminutes = 0.001\n",
      true, true);
  const auto spent = project.dent({"optimize", "-q", "--json"}, 600);
  EXPECT_EQ(spent.code, 11) << spent.out << spent.err;
  std::string manifest = project.read("dent.toml");
  manifest.replace(manifest.find("0.001"), 5, "5");
  project.write("dent.toml", manifest);
  const auto more = project.dent({"resume", "-q", "--json"}, 600);
  EXPECT_EQ(more.json().at("session"), spent.json().at("session"));
  EXPECT_EQ(more.code, 13) << more.out << more.err;  // no more ideas, which is another end
  const auto chosen = more.json().at("choice").at("tunables");
  EXPECT_EQ(chosen.at("SPIN"), "1");
}

TEST(Optimize, WithNothingToTryItSaysWhatAManifestNeeds) {
  const Repository project("");
  const auto ran = project.dent({"optimize", "-q"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("[tunables]"), std::string::npos) << ran.err;
  const auto resumed = Repository(kTunables).dent({"optimize", "-q", "--resume"});
  EXPECT_EQ(resumed.code, 2);
}

// What a change has to prove depends on them.
TEST(Optimize, AResumeRefusesWhatItCanNotChange) {
  const Repository project(kTunables);
  for (const std::string option : {"--target", "--iterations", "--parallel"}) {
    const auto ran = project.dent({"optimize", "--resume", "latest", option, "2"});
    EXPECT_EQ(ran.code, 2) << option;
    EXPECT_NE(ran.err.find(option + " with --resume"), std::string::npos) << ran.err;
  }
}

TEST(Optimize, AStartThatIsWrongIsNoStart) {
  const Repository project("[tunables]\nSPIN = [64, 1]\nBROKEN = [1, 0]\n");
  const auto ran = project.dent({"optimize", "-q", "--json"}, 600);
  EXPECT_EQ(ran.code, 5) << project.outcomes() << ran.json().value("reason", ran.out) << ran.err;
  EXPECT_EQ(ran.json().at("verdict"), "INCORRECT");
  EXPECT_FALSE(fs::exists(project.folder() / ".dent" / "worktrees"));
}

}  // namespace
}  // namespace dent::loop_test

// SPDX-License-Identifier: MIT
// The real dent optimize on a real project in a real repository, with its tree in every state that a tree can
// be in.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "loop/state/loop_state.h"
#include "session/dent_program.h"
#include "system/capture.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::ScratchProject;

// y = 2 x, with as much idle work as SPIN says; BROKEN makes it wrong, and UNREAD changes nothing at all.
constexpr const char* kKernel =
    "void scale(const float* x, float* y, int n) {\n"
    "  volatile float work = 0;\n"
    "  for (int i = 0; i < SPIN * 500; ++i) work = work + 1;\n"
    "  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + BROKEN;\n"
    "}\n";
constexpr const char* kReference =
    "#include <dent/kernel.h>\n"
    "extern \"C\" int reference(const dent_call* call) {\n"
    "  const double* x = static_cast<const double*>(call->inputs[0].data);\n"
    "  double* y = static_cast<double*>(call->outputs[0].data);\n"
    "  for (long i = 0; i < call->outputs[0].sizes[0]; ++i) y[i] = 2 * x[i];\n"
    "  return 0;\n"
    "}\n";
constexpr const char* kInstantLoop =
    "[performance]\nseconds = 0.2\nprecision = 0.5\nbaseline_within = 50\n[correctness]\nseeds = 1\n";

class Repository : public ScratchProject {
 public:
  explicit Repository(const std::string& more, bool init = true, bool one_shape = false) {
    write("kernel.cpp", kKernel);
    write("reference.cpp", kReference);
    write(
        "dent.toml",
        "version = 1\nname = \"scale\"\n"
        "shapes = [" +
            std::string(one_shape ? "" : "{ name = \"tiny\", n = 16 }, ") +
            "{ name = \"small\", n = 64 }]\n"
            "[kernel]\nsources = [\"kernel.cpp\"]\nentry = \"void scale(const float* x, float* y, int "
            "n)\"\nflags = [\"-O1\"]\n"
            "[baseline.slow]\nsources = [\"kernel.cpp\"]\nentry = \"void scale(const float* x, float* y, int "
            "n)\"\n"
            "flags = [\"-O1\", \"-DSPIN=64\", \"-DBROKEN=0\"]\n"
            "[operator]\nname = \"scale\"\ninputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
            "reference = { source = \"reference.cpp\", entry = \"reference\" }\n" +
            std::string(kInstantLoop) + more);
    if (init) git({"init", "-q"});
  }

  std::string git(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    return capture(arguments, 30, folder()).value_or("git failed");
  }

  // A tree with staged, unstaged, untracked and deleted files, and a stash.
  void make_dirty() const {
    write("staged.txt", "1\n");
    write("changed.txt", "1\n");
    write("deleted.txt", "1\n");
    git({"add", "-A"});
    git({"commit", "-qm", "first"});
    write("changed.txt", "stashed\n");
    git({"stash", "-q"});
    write("staged.txt", "2\n");
    git({"add", "staged.txt"});
    write("staged.txt", "3\n");
    write("changed.txt", "2\n");
    write("untracked.txt", "u\n");
    fs::remove(folder() / "deleted.txt");
  }

  // Every byte that is the user's: the tree, and all of .git but objects and what belongs to dent/.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    for (auto entry = fs::recursive_directory_iterator(folder()); entry != fs::recursive_directory_iterator();
         ++entry) {
      const std::string path = entry->path().lexically_relative(folder()).string();
      static const std::set<std::string> kOurs{".dent", ".git/objects", ".git/refs/heads/dent",
                                               ".git/logs/refs/heads/dent"};
      if (kOurs.count(path) > 0) {
        entry.disable_recursion_pending();
      } else if (path != "stdout" && path != "stderr" && path != "log") {
        all[path] = entry->is_directory() ? "folder" : read(path);
      }
    }
    return all;
  }

  // What differs from an earlier everything(); "" when nothing does.
  std::string changes_since(const std::map<std::string, std::string>& before,
                            bool worktrees_too = true) const {
    std::string changed;
    std::map<std::string, std::string> now = everything();
    std::set<std::string> names;
    for (const auto& [path, content] : before) names.insert(path);
    for (const auto& [path, content] : now) names.insert(path);
    for (const std::string& path : names) {
      if (!worktrees_too && path.rfind(".git/worktrees", 0) == 0) continue;
      const auto old = before.find(path);
      if (old == before.end() || now[path] != old->second) changed += path + "; ";
    }
    return changed;
  }

  // Every iteration and how it ended, for messages.
  std::string outcomes() const {
    std::string text;
    for (const Iteration& i : state_of(records()).iterations) {
      text += i.proposal.hypothesis.change + " | ";
      if (i.outcome) text += std::string(name(i.outcome->stage)) + ": " + i.outcome->reason;
      text += "\n";
    }
    return text;
  }

  std::vector<Record> records() const {
    return read_ledger(SessionStore(folder()).find("latest").ledger()).records;
  }
};

const std::string kTunables = "[tunables]\nSPIN = [64, 8, 1]\nBROKEN = [0, 1]\nUNREAD = [0, 1]\n";

// Until the last child of a dent that was killed is gone.
void wait_for_the_lock(const ScratchProject& project) {
  const fs::path file = project.folder() / ".dent" / "lock";
  if (!fs::exists(file)) return;
  const FileDescriptor lock(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(::flock(lock.get(), LOCK_EX), 0);
}

// Processes that run a file of that folder or have it as their folder.
std::vector<std::string> processes_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string where = fs::read_symlink(entry.path() / "cwd", ignored).string();
    if (where.rfind(folder.string(), 0) == 0) found.push_back(entry.path().string() + " in " + where);
  }
  return found;
}

void expect_a_finished_loop(const Repository& project) {
  const auto records = project.records();
  std::set<std::string> seen;
  std::map<std::string_view, int> kinds;
  for (const Record& record : records) {
    ++kinds[kind_of(record.data)];
    std::string key;
    if (const auto* gate = record.as<record::Gate>()) key = "gate " + gate->step;
    if (const auto* begun = record.as<record::Iteration>())
      key = "iteration " + std::to_string(begun->iteration);
    if (const auto* ended = record.as<record::Outcome>()) key = "outcome " + std::to_string(ended->iteration);
    EXPECT_TRUE(key.empty() || seen.insert(key).second) << "twice: " << key;
  }
  EXPECT_EQ(kinds["verdict"], 1);
  EXPECT_EQ(kinds["loop"], 1);
  EXPECT_EQ(kinds["iteration"], kinds["outcome"]);
  EXPECT_FALSE(fs::exists(project.folder() / ".dent" / "worktrees"));
  EXPECT_FALSE(fs::exists(project.folder() / ".git" / "worktrees"));
}

TEST(Optimize, ClimbsKeepsCommitsAndLeavesTheTreeAlone) {
  const Repository project(kTunables);
  project.make_dirty();
  const auto before = project.everything();
  const auto ran = project.dent({"optimize", "-q", "--json", "-n", "6"}, 300);
  if (ran.code == 8) GTEST_SKIP() << "too busy to tell: " << ran.json().value("reason", "");
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
  EXPECT_TRUE(checked.code == 0 || checked.code == 8 || checked.code == 15)
      << checked.out << checked.err;  // 8: too busy to tell
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
  EXPECT_GE(kills, 10) << std::ifstream(project.folder() / "log").rdbuf();
  EXPECT_EQ(project.changes_since(before), "");
  expect_a_finished_loop(project);
  const LoopState state = state_of(project.records());
  ASSERT_NE(state.last_kept(), nullptr) << project.outcomes();
  EXPECT_TRUE(state.incumbent().tunables.contains("SPIN"))
      << project.outcomes();  // less idle work than at first
  EXPECT_EQ(project.git({"rev-parse", state.branch}), state.incumbent_commit() + "\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(processes_in(project.folder()).empty()) << processes_in(project.folder()).front();
}

TEST(Optimize, AnInterruptionLeavesNothingBehind) {
  const Repository project(kTunables, true, true);
  project.make_dirty();
  const auto before = project.everything();
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(
        {.argv = project.command({"optimize", "-q", "-n", "4"}), .log = project.folder() / "log"});
    while (!process.poll() &&
           !fs::exists(project.folder() / ".dent" / "worktrees" / "candidate" / "dent.toml")) {
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
  EXPECT_EQ(project.dent({"optimize", "-q", "--resume"}, 300).code % 8, 0);  // 8: too busy to tell
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
  const auto ran = project.dent({"optimize", "-q", "--json"}, 300);
  if (ran.code == 8) GTEST_SKIP() << "too busy to tell: " << ran.json().value("reason", "");
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
  const auto ran = project.dent({"optimize", "-q", "--json"}, 300);
  if (ran.code == 8) GTEST_SKIP() << "too busy to tell: " << ran.json().value("reason", "");
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
  const auto spent = project.dent({"optimize", "-q", "--json"}, 120);
  EXPECT_EQ(spent.code, 11) << spent.out << spent.err;
  std::string manifest = project.read("dent.toml");
  manifest.replace(manifest.find("0.001"), 5, "5");
  project.write("dent.toml", manifest);
  EXPECT_EQ(project.dent({"resume", "-q"}).code, 2);  // a loop goes on by its own command
  const auto more = project.dent({"optimize", "-q", "--json", "--resume"}, 200);
  EXPECT_EQ(more.code, 13) << more.out << more.err;  // no more ideas, which is another end
  EXPECT_EQ(more.json().at("session"), spent.json().at("session"));
  EXPECT_EQ(more.json().at("choice").at("tunables").at("SPIN"), "1");
}

TEST(Optimize, WithNothingToTryItSaysWhatAManifestNeeds) {
  const Repository project("");
  const auto ran = project.dent({"optimize", "-q"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("[tunables]"), std::string::npos) << ran.err;
  const auto resumed = Repository(kTunables).dent({"optimize", "-q", "--resume"});
  EXPECT_EQ(resumed.code, 2);
}

TEST(Optimize, AStartThatIsWrongIsNoStart) {
  const Repository project("[tunables]\nSPIN = [64, 1]\nBROKEN = [1, 0]\n");
  const auto ran = project.dent({"optimize", "-q", "--json"}, 120);
  EXPECT_EQ(ran.code, 5) << project.outcomes() << ran.json().value("reason", ran.out) << ran.err;
  EXPECT_EQ(ran.json().at("verdict"), "INCORRECT");
  EXPECT_FALSE(fs::exists(project.folder() / ".dent" / "worktrees"));
}

}  // namespace
}  // namespace dent

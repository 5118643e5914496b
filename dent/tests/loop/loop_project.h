// SPDX-License-Identifier: MIT
// A project in a real repository for dent optimize, and what every loop has to show at its end.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "loop/state/loop_state.h"
#include "session/dent_program.h"
#include "system/capture.h"

namespace dent::test {

namespace fs = std::filesystem;

// y = 2 x, with as much idle work as SPIN says, by the script too (dent/tests/support/scripted); BROKEN makes
// it wrong, and UNREAD changes nothing at all.
inline constexpr const char* kKernel =
    "void scale(const float* x, float* y, int n) {\n"
    "  volatile float work = 0;\n"
    "  for (int i = 0; i < SPIN * 500; ++i) work = work + 1;\n"
    "  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + BROKEN;\n"
    "}\n"
    "extern \"C\" double scripted_ns(const char*) { return SPIN * 500 * 10.0; }\n";
inline constexpr const char* kReference =
    "#include <dent/kernel.h>\n"
    "extern \"C\" int reference(const dent_call* call) {\n"
    "  const double* x = static_cast<const double*>(call->inputs[0].data);\n"
    "  double* y = static_cast<double*>(call->outputs[0].data);\n"
    "  for (long i = 0; i < call->outputs[0].sizes[0]; ++i) y[i] = 2 * x[i];\n"
    "  return 0;\n"
    "}\n";
inline constexpr const char* kInstantLoop =
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

inline const std::string kTunables = "[tunables]\nSPIN = [64, 8, 1]\nBROKEN = [0, 1]\nUNREAD = [0, 1]\n";

// Until the last child of a dent that was killed is gone.
inline void wait_for_the_lock(const ScratchProject& project) {
  const fs::path file = project.folder() / ".dent" / "lock";
  if (!fs::exists(file)) return;
  const FileDescriptor lock(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(::flock(lock.get(), LOCK_EX), 0);
}

// Processes that have that folder, or one in it, as theirs.
inline std::vector<std::string> processes_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string where = fs::read_symlink(entry.path() / "cwd", ignored).string();
    if (where.rfind(folder.string(), 0) == 0)
      found.push_back(text_of(entry.path() / "cmdline") + " in " + where);
  }
  return found;
}

// What a dent that was killed had started goes by itself, at once on a machine that has nothing else to do.
inline void expect_nothing_stays_in(const fs::path& folder) {
  auto left = processes_in(folder);
  for (int i = 0; i < 300 && !left.empty(); ++i, left = processes_in(folder))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(left.empty()) << left.front();
}

inline void expect_a_finished_loop(const Repository& project) {
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

}  // namespace dent::test

// SPDX-License-Identifier: MIT
// What the loop does to a git repository, and what it must never do.
#include "repository/repository.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "loop/proposers/harness.h"
#include "project/manifest.h"
#include "repository/worktree.h"
#include "system/capture.h"

namespace dent::repository_test {
namespace {

namespace fs = std::filesystem;

// A temporary folder whose name contains spaces.
class Scratch {
 public:
  Scratch() {
    static int count = 0;
    folder_ =
        fs::temp_directory_path() / ("loop test " + std::to_string(getpid()) + "-" + std::to_string(count++));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    folder_ = fs::canonical(folder_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  const fs::path& folder() const { return folder_; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  static std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  std::string git(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t", "-c",
                                         "protocol.file.allow=always", "-c", "init.defaultBranch=main"});
    return capture(arguments, 30, folder_).value_or("git failed");
  }
  fs::path dent() const {
    fs::create_directories(folder_ / ".dent");
    write(".dent/.gitignore", "*\n");
    return folder_ / ".dent";
  }

  // Contents that the loop must not change: the user's files, and those parts of .git to which it adds
  // nothing.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    for (auto entry = fs::recursive_directory_iterator(folder_); entry != fs::recursive_directory_iterator();
         ++entry) {
      const std::string path = entry->path().lexically_relative(folder_).string();
      if (path == ".dent" || path == ".git/objects" || path == ".git/refs/heads/dent" ||
          path == ".git/logs/refs/heads/dent") {
        entry.disable_recursion_pending();
        continue;
      }
      if (entry->is_symlink())
        all[path] = "-> " + fs::read_symlink(entry->path()).string();
      else if (entry->is_regular_file())
        all[path] = read(entry->path());
      else
        all[path] = "folder";
    }
    return all;
  }

 private:
  fs::path folder_;
};

// A tree with files in every possible state.
void make_dirty(const Scratch& scratch) {
  scratch.git({"init", "-q"});
  scratch.write("dent.toml", "manifest\n");
  scratch.write("kernel.cpp", "committed\n");
  scratch.write("staged.cpp", "committed\n");
  scratch.write("gone.cpp", "committed\n");
  scratch.write(".gitignore", "*.o\n");
  scratch.git({"add", "-A"});
  scratch.git({"commit", "-qm", "first"});
  scratch.write("kernel.cpp", "stashed\n");
  scratch.git({"stash", "-q"});
  scratch.write("kernel.cpp", "changed\n");
  scratch.write("staged.cpp", "staged\n");
  scratch.git({"add", "staged.cpp"});
  scratch.write("staged.cpp", "staged and changed\n");
  scratch.write("new and staged.cpp", "n\n");
  scratch.git({"add", "new and staged.cpp"});
  scratch.write("untracked.cpp", "u\n");
  scratch.write("ignored.o", "o\n");
  fs::remove(scratch.folder() / "gone.cpp");
  fs::create_symlink("kernel.cpp", scratch.folder() / "link.cpp");
}

TEST(Repository, ADirtyTreeIsSnapshotAndLeftAsItIs) {
  const Scratch scratch;
  make_dirty(scratch);
  scratch.dent();
  const auto before = scratch.everything();
  {
    const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
    const std::string base = repository.snapshot("start");
    repository.move_branch("dent/s", std::nullopt, base);
    Worktree worktree(repository, scratch.dent() / "worktrees" / "candidate", base);
    const auto in = [&](const char* file) { return Scratch::read(worktree.project() / file); };
    EXPECT_EQ(in("kernel.cpp"), "changed\n");
    EXPECT_EQ(in("staged.cpp"), "staged and changed\n");
    EXPECT_EQ(in("new and staged.cpp"), "n\n");
    EXPECT_EQ(in("untracked.cpp"), "u\n");
    EXPECT_FALSE(fs::exists(worktree.project() / "gone.cpp"));
    EXPECT_FALSE(fs::exists(worktree.project() / "ignored.o"));

    std::ofstream(worktree.project() / "kernel.cpp") << "better\n";
    std::ofstream(worktree.project() / "added.cpp") << "more\n";
    const auto change = worktree.change();
    EXPECT_EQ(change.files, (std::vector<std::string>{"added.cpp", "kernel.cpp"}));
    EXPECT_EQ(change.lines, 3);
    const std::string one = repository.commit(change.tree, base, "better", "2026-01-02T03:04:05.678Z");
    EXPECT_EQ(repository.commit(change.tree, base, "better", "2026-01-02T03:04:05.678Z"), one);
    repository.move_branch("dent/s", base, one);
    repository.move_branch("dent/s", base, one);  // repeated, as by a loop that was killed in between
    worktree.reset(base);
    EXPECT_TRUE(worktree.change().files.empty());
    scratch.write(".dent/x.patch", change.patch);
    EXPECT_EQ(worktree.apply(scratch.dent() / "x.patch"), "");
    EXPECT_EQ(worktree.change().tree, change.tree);
    EXPECT_NE(worktree.apply(scratch.dent() / "x.patch"), "");
  }
  EXPECT_EQ(scratch.everything(), before);
  EXPECT_EQ(scratch.git({"log", "--format=%s", "dent/s"}), "better\nstart\nfirst\n");
}

// A program may delete the .git file of a worktree. git would then find the user's repository, and write the
// user's index.
TEST(Repository, AWorktreeWithoutItsGitFileIsStillNobodyElses) {
  const Scratch scratch;
  make_dirty(scratch);
  scratch.dent();
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  const std::string base = repository.snapshot("start");
  Worktree worktree(repository, scratch.dent() / "worktrees" / "candidate", base);
  std::error_code ignored;
  fs::remove(scratch.dent() / ".gitignore", ignored);  // it kept .dent out of the user's index
  const std::string index = Scratch::read(scratch.folder() / ".git/index");
  for (const char* instead : {"nothing", "a folder", "another repository"}) {
    worktree.reset(base);
    fs::remove_all(worktree.folder() / ".git");
    if (std::string_view(instead) == "a folder") fs::create_directories(worktree.folder() / ".git/objects");
    if (std::string_view(instead) == "another repository")
      std::ofstream(worktree.folder() / ".git") << "gitdir: " << (scratch.folder() / ".git").string() << "\n";
    std::ofstream(worktree.project() / "kernel.cpp") << "better\n";
    const auto change = worktree.change();
    EXPECT_EQ(change.files, std::vector<std::string>{"kernel.cpp"}) << instead;
    EXPECT_EQ(change.lines, 2) << instead;
    EXPECT_EQ(Scratch::read(scratch.folder() / ".git/index"), index) << instead;
    scratch.write(".dent/x.patch", change.patch);
    worktree.reset(base);
    fs::remove_all(worktree.folder() / ".git");
    EXPECT_EQ(worktree.apply(scratch.dent() / "x.patch"), "") << instead;
    EXPECT_EQ(worktree.change().tree, change.tree) << instead;
  }
}

// A `git worktree add` may outlive dent and write into an entry that the next dent has just removed; or it
// dies with dent and leaves its lock.
TEST(Repository, WhatIsLeftOfAWorktreeGoesAndThoseOfOthersStay) {
  const Scratch scratch;
  make_dirty(scratch);
  scratch.git({"worktree", "add", "-q", "theirs", "HEAD"});
  scratch.write(".git/worktrees/sent/ORIG_HEAD", "0\n");
  scratch.write(".git/worktrees/new/locked", "initializing\n");  // by another git at work
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  const std::string ours = ".git/worktrees/candidate" + repository.mark();
  scratch.write(ours + "/locked", "initializing\n");
  scratch.write(ours + "1/locked", "initializing\n");
  scratch.write(ours + "1/gitdir", "");
  repository.remove_worktrees(scratch.dent() / "worktrees");
  EXPECT_FALSE(fs::exists(scratch.folder() / ".git/worktrees/sent"));
  EXPECT_FALSE(fs::exists(scratch.folder() / ours));
  EXPECT_FALSE(fs::exists(scratch.folder() / (ours + "1")));
  EXPECT_TRUE(fs::exists(scratch.folder() / ".git/worktrees/new/locked"));
  EXPECT_TRUE(fs::exists(scratch.folder() / ".git/worktrees/theirs/gitdir"));
  EXPECT_TRUE(fs::exists(scratch.folder() / "theirs/dent.toml"));
}

TEST(Repository, ACleanTreeNeedsNoCommitOfItsOwn) {
  const Scratch scratch;
  scratch.git({"init", "-q"});
  scratch.write("dent.toml", "m\n");
  scratch.git({"add", "-A"});
  scratch.git({"commit", "-qm", "first"});
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  EXPECT_EQ(repository.snapshot("start") + "\n", scratch.git({"rev-parse", "HEAD"}));
}

TEST(Repository, WorksWithoutACommitAndWithADetachedHead) {
  const Scratch scratch;
  scratch.git({"init", "-q"});
  scratch.write("dent.toml", "m\n");
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  const std::string base = repository.snapshot("start");
  EXPECT_EQ(scratch.git({"log", "--format=%s", base}), "start\n");
  const Worktree worktree(repository, scratch.dent() / "worktrees" / "w", base);
  EXPECT_EQ(Scratch::read(worktree.project() / "dent.toml"), "m\n");
  scratch.git({"add", "-A"});
  scratch.git({"commit", "-qm", "first"});
  scratch.git({"checkout", "-q", "--detach"});
  EXPECT_EQ(repository.snapshot("again") + "\n", scratch.git({"rev-parse", "HEAD"}));
}

TEST(Repository, AProjectMayBeAFolderOfARepository) {
  const Scratch scratch;
  scratch.git({"init", "-q"});
  scratch.write("top.h", "top\n");
  scratch.write("a b/kernel/dent.toml", "m\n");
  scratch.write("other/untracked.txt", "u\n");
  scratch.git({"add", "top.h"});
  scratch.git({"commit", "-qm", "first"});
  scratch.write("top.h", "changed\n");
  const fs::path project = scratch.folder() / "a b" / "kernel";
  scratch.write("a b/kernel/.dent/.gitignore", "*\n");
  const Repository repository(project, project / ".dent", "dent.toml");
  EXPECT_FALSE(repository.is_private());
  EXPECT_EQ(repository.prefix(), fs::path("a b/kernel"));
  Worktree worktree(repository, project / ".dent" / "worktrees" / "w", repository.snapshot("start"));
  EXPECT_EQ(Scratch::read(worktree.folder() / "top.h"), "changed\n");
  EXPECT_EQ(Scratch::read(worktree.project() / "dent.toml"), "m\n");
  EXPECT_FALSE(fs::exists(worktree.folder() / "other"));  // untracked, and outside the project's folder
  std::ofstream(worktree.project() / "new.cpp") << "n\n";
  std::ofstream(worktree.folder() / "top.h") << "meddled\n";
  EXPECT_EQ(worktree.change().files, (std::vector<std::string>{"new.cpp", "../../top.h"}));
}

TEST(Repository, WhereThereIsNoneOrItIgnoresTheProjectAPrivateOneServes) {
  const Scratch scratch;
  scratch.git({"init", "-q"});
  scratch.write(".gitignore", "build/\n");
  scratch.write("build/p/dent.toml", "m\n");
  scratch.write("build/p/.dent/.gitignore", "*\n");
  const fs::path project = scratch.folder() / "build" / "p";
  const Repository repository(project, project / ".dent", "dent.toml");
  EXPECT_TRUE(repository.is_private());
  const std::string base = repository.snapshot("start");
  repository.move_branch("dent/s", std::nullopt, base);
  Worktree worktree(repository, project / ".dent" / "worktrees" / "w", base);
  EXPECT_EQ(Scratch::read(worktree.project() / "dent.toml"), "m\n");
  std::ofstream(worktree.project() / "dent.toml") << "n\n";
  const std::string next = repository.commit(worktree.change().tree, base, "next", "");
  repository.move_branch("dent/s", base, next);
  EXPECT_NE(repository.difference(base, next).find("+n"), std::string::npos);
  EXPECT_EQ(scratch.git({"for-each-ref"}), "");
}

TEST(Repository, SubmodulesAreThereAndStayTheUsers) {
  const Scratch library;
  library.git({"init", "-q"});
  library.write("lib.h", "lib\n");
  library.git({"add", "-A"});
  library.git({"commit", "-qm", "lib"});
  const Scratch scratch;
  scratch.git({"init", "-q"});
  scratch.write("dent.toml", "m\n");
  scratch.git({"add", "-A"});
  scratch.git({"commit", "-qm", "first"});
  scratch.git({"submodule", "--quiet", "add", library.folder().string(), "third party"});
  scratch.git({"commit", "-qm", "submodule"});
  ASSERT_TRUE(fs::exists(scratch.folder() / "third party" / "lib.h"));
  scratch.dent();
  const auto before = scratch.everything();
  {
    const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
    Worktree worktree(repository, scratch.dent() / "worktrees" / "w", repository.snapshot("start"));
    EXPECT_EQ(Scratch::read(worktree.folder() / "third party" / "lib.h"), "lib\n");
    EXPECT_TRUE(worktree.change().files.empty());
    std::ofstream(worktree.folder() / "third party" / "lib.h") << "meddled\n";
    worktree.reset(worktree.commit());
    std::ofstream(worktree.project() / "k.cpp") << "k\n";
    EXPECT_EQ(worktree.change().files, std::vector<std::string>{"k.cpp"});
  }
  EXPECT_EQ(scratch.everything(), before);
}

TEST(Repository, NoHookOfTheUsersRuns) {
  const Scratch scratch;
  scratch.git({"init", "-q"});
  for (const char* hook :
       {"post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"}) {
    scratch.write(std::string(".git/hooks/") + hook, "#!/bin/sh\ntouch \"$(dirname \"$0\")/../../ran\"\n");
    fs::permissions(scratch.folder() / ".git" / "hooks" / hook, fs::perms::all);
  }
  scratch.write("dent.toml", "m\n");
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  const std::string base = repository.snapshot("start");
  repository.move_branch("dent/s", std::nullopt, base);
  Worktree worktree(repository, scratch.dent() / "worktrees" / "w", base);
  worktree.reset(base);
  EXPECT_FALSE(fs::exists(scratch.folder() / "ran"));
}

TEST(Repository, ABranchInTheWayOrMovedByOthersIsAnError) {
  const Scratch scratch;
  scratch.git({"init", "-q"});
  scratch.write("dent.toml", "m\n");
  scratch.git({"add", "-A"});
  scratch.git({"commit", "-qm", "first"});
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  const std::string base = repository.snapshot("start");
  scratch.git({"branch", "dent"});
  EXPECT_THROW(repository.move_branch("dent/s", std::nullopt, base), Error);
  scratch.git({"branch", "-D", "dent"});
  repository.move_branch("dent/s", std::nullopt, base);
  const std::string other =
      repository.commit(repository.git({"rev-parse", base + "^{tree}"}).line(), base, "other", "");
  scratch.git({"branch", "-f", "dent/s", other});
  EXPECT_THROW(
      repository.move_branch(
          "dent/s", base,
          repository.commit(repository.git({"rev-parse", base + "^{tree}"}).line(), base, "ours", "")),
      Error);
  scratch.git({"checkout", "-q", "dent/s"});
  EXPECT_THROW(repository.move_branch("dent/s", other, base), Error);
}

TEST(Repository, AnotherOnesVariablesLeadNowhere) {
  const Scratch scratch, other;
  scratch.git({"init", "-q"});
  scratch.write("dent.toml", "m\n");
  setenv("GIT_DIR", (other.folder() / "elsewhere").c_str(), 1);
  setenv("GIT_INDEX_FILE", (other.folder() / "index").c_str(), 1);
  const Repository repository(scratch.folder(), scratch.dent(), "dent.toml");
  const std::string base = repository.snapshot("start");
  unsetenv("GIT_DIR");
  unsetenv("GIT_INDEX_FILE");
  EXPECT_TRUE(repository.has(base));
  EXPECT_TRUE(fs::is_empty(other.folder()));
}

TEST(Harness, RefusesWhatWasNotDeclaredWhatJudgesAndWhatIsTooLong) {
  const Project project = parse_project(
      "version = 1\nshapes = [{ name = \"tiny\", n = 4 }]\n"
      "[kernel]\nsources = [\"k.cpp\"]\nentry = \"f\"\n"
      "[baseline.b]\nsources = [\"b.cpp\"]\nentry = \"f\"\n"
      "[operator]\nname = \"op\"\ninputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
      "reference = { source = \"r.cpp\", entry = \"f\" }\n"
      "[optimize]\npatch_lines = 10\nfiles = [\"*.cpp\", \"inc/*.h\"]\nprotect = [\"inc/fixed.h\"]\n",
      "/nowhere");
  const auto why = [&](std::vector<std::string> files, std::vector<std::string> declared, int lines = 1,
                       bool links = false) {
    return refusal({"tree", "patch", std::move(files), lines, links}, declared, project);
  };
  EXPECT_EQ(why({"k.cpp"}, {"k.cpp"}), "");
  EXPECT_EQ(why({"inc/a.h", "k.cpp"}, {"inc/a.h", "k.cpp"}), "");
  EXPECT_NE(why({}, {"k.cpp"}).find("changes nothing"), std::string::npos);
  EXPECT_NE(why({"k.cpp", "x.cpp"}, {"k.cpp"}).find("did not declare"), std::string::npos);
  for (const char* judge : {"b.cpp", "r.cpp", "dent.toml", "tuned.toml", "inc/fixed.h"}) {
    EXPECT_NE(why({judge}, {judge}).find("judges"), std::string::npos) << judge;
  }
  EXPECT_NE(why({"Makefile"}, {"Makefile"}).find("may touch"), std::string::npos);
  EXPECT_NE(why({"../k.cpp"}, {"../k.cpp"}).find("may touch"), std::string::npos);
  EXPECT_NE(why({"k.cpp"}, {"k.cpp"}, 11).find("11 lines"), std::string::npos);
  EXPECT_NE(why({"k.cpp"}, {"k.cpp"}, 1, true).find("link"), std::string::npos);
}

}  // namespace
}  // namespace dent::repository_test

// SPDX-License-Identifier: MIT
#include "repository/repository.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "system/process.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr double kGitSeconds = 300;
// Removes environment variables by which the caller could redirect git.
constexpr const char* kScript =
    "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX "
    "GIT_EXTERNAL_DIFF GIT_DIFF_OPTS; errors=$1; shift; exec env \"$@\" 2>\"$errors\"";

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// Whether an entry without a worktree path is left over. An unlocked one is garbage by git's own rule (`git
// worktree prune` removes it): a `git worktree add` that outlived its dent writes ORIG_HEAD into an entry
// that the next dent has removed. A locked one, whose dent was killed early, could belong to another git at
// work, unless its name has our mark.
bool is_left_over(const fs::path& entry, const std::string& mark) {
  if (!first_line(text_of(entry / "gitdir")).empty()) return false;
  const bool our_name = entry.filename().string().find(mark) != std::string::npos;
  return our_name || (!fs::exists(entry / "gitdir") && !fs::exists(entry / "locked"));
}

}  // namespace

std::string Repository::Answer::line() const {
  std::string text = out;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Repository::Repository(fs::path project, fs::path dent_folder, const std::string& manifest)
    : project_(fs::canonical(project)), dent_(fs::canonical(dent_folder)), scratch_(dent_ / "tmp") {
  fs::create_directories(scratch_);
  root_ = project_;
  Answer found;
  try {
    found = try_git({"rev-parse", "--show-toplevel"}, project_);
  } catch (const Error&) {
    found.code = 127;
  }
  if (found.code == 127) {
    throw Error(ErrorCode::environment, "git can't be run", "install it (Debian: apt-get install git)");
  }
  if (!found.ok()) {
    if (found.err.find("not a git repository") == std::string::npos) {
      throw Error(ErrorCode::environment, "git refuses " + project_.string() + ": " + first_line(found.err),
                  "mend what it says; the loop keeps its candidates as commits");
    }
    open_private();
    return;
  }
  root_ = fs::canonical(found.line());
  prefix_ = project_.lexically_relative(root_);
  if (prefix_ == ".") prefix_.clear();
  git_dir_ = git({"rev-parse", "--absolute-git-dir"}, project_).line();
  // Worktrees of a repository that ignores the project would lack its files.
  const bool tracked = try_git({"ls-files", "--error-unmatch", manifest}, project_).ok();
  if (!tracked && try_git({"check-ignore", "-q", manifest}, project_).ok()) open_private();
}

void Repository::open_private() {
  private_ = true;
  root_ = project_;
  prefix_.clear();
  git_dir_.clear();
  const fs::path folder = dent_ / "repository";
  if (!fs::exists(folder / "HEAD") || !fs::exists(folder / "objects"))
    git({"init", "-q", "--bare", folder.string()});
  git_dir_ = folder;
}

Repository::Answer Repository::try_git(const std::vector<std::string>& arguments, const fs::path& in,
                                       const Environment& environment) const {
  const fs::path out = scratch_ / fmt::format("git-{}.out", ::getpid());
  const fs::path err = scratch_ / fmt::format("git-{}.err", ::getpid());
  std::error_code ignored;
  fs::remove(out, ignored);
  std::vector<std::string> argv{"/bin/sh",    "-c",
                                kScript,      "git",
                                err.string(), "GIT_OPTIONAL_LOCKS=0",
                                "LC_ALL=C",   "GIT_TERMINAL_PROMPT=0"};
  for (const auto& [name, value] : environment) argv.push_back(name + "=" + value);
  argv.push_back("git");
  for (const char* setting :
       {"core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false",
        "core.quotePath=false", "commit.gpgSign=false", "advice.detachedHead=false", "core.safecrlf=false",
        "submodule.recurse=false", "diff.noprefix=false", "diff.mnemonicPrefix=false"}) {
    argv.insert(argv.end(), {"-c", setting});
  }
  if (in.empty() && !git_dir_.empty()) {  // no search: the repository is known
    argv.insert(argv.end(), {"--git-dir=" + git_dir_.string(), "--work-tree=" + root_.string()});
  }
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const Finished finished =
      run({.argv = argv, .directory = in.empty() ? root_ : in, .log = out}, kGitSeconds);
  Answer answer;
  answer.code = finished.ending.kind == Ending::Kind::exited ? finished.ending.code : -1;
  answer.out = text_of(out);
  answer.err = text_of(err);
  if (finished.ending.kind != Ending::Kind::exited) answer.err += describe(finished.ending);
  return answer;
}

Repository::Answer Repository::git(const std::vector<std::string>& arguments, const fs::path& in,
                                   const Environment& environment) const {
  Answer answer = try_git(arguments, in, environment);
  if (!answer.ok()) {
    throw Error(
        ErrorCode::environment,
        fmt::format("git {}: {}", fmt::join(arguments, " "), answer.err.empty() ? "failed" : answer.err),
        "your files are as they were; mend what git says and go on: dent optimize --resume");
  }
  return answer;
}

std::string Repository::snapshot(const std::string& message) const {
  const fs::path index = scratch_ / "snapshot-index";
  fs::remove(index);
  // Copying the user's index saves hashing every file again.
  const fs::path theirs = root_ / try_git({"rev-parse", "--git-path", "index"}).line();
  if (!private_ && fs::exists(theirs)) {
    fs::copy_file(theirs, index);
    // Git checks the contents of files changed within the second of the index's own time stamp, so the copy
    // must keep that time.
    fs::last_write_time(index, fs::last_write_time(theirs));
  }
  const Environment own{{"GIT_INDEX_FILE", index.string()}};
  git({"add", "-u", "--", "."}, {}, own);
  git({"add", "-A", "--", prefix_.empty() ? "." : prefix_.string()}, {}, own);
  const std::string tree = git({"write-tree"}, {}, own).line();
  fs::remove(index);
  const Answer head = try_git({"rev-parse", "--verify", "-q", "HEAD^{commit}"});
  std::optional<std::string> parent;
  if (head.ok()) {
    parent = head.line();
    if (git({"rev-parse", *parent + "^{tree}"}).line() == tree) return *parent;
  }
  return commit(tree, parent, message, "");
}

std::string Repository::commit(const std::string& tree, const std::optional<std::string>& parent,
                               const std::string& message, std::string_view utc) const {
  const fs::path file = scratch_ / "commit-message";
  std::ofstream(file) << message << "\n";
  std::vector<std::string> arguments{"commit-tree", tree, "-F", file.string()};
  if (parent) arguments.insert(arguments.end(), {"-p", *parent});
  Environment who{{"GIT_AUTHOR_NAME", "dent"},
                  {"GIT_AUTHOR_EMAIL", "dent@localhost"},
                  {"GIT_COMMITTER_NAME", "dent"},
                  {"GIT_COMMITTER_EMAIL", "dent@localhost"}};
  if (!utc.empty()) {
    who.emplace_back("GIT_AUTHOR_DATE", utc);
    who.emplace_back("GIT_COMMITTER_DATE", utc);
  }
  return git(arguments, {}, who).line();
}

void Repository::move_branch(const std::string& branch, const std::optional<std::string>& before,
                             const std::string& to) const {
  const std::string ref = "refs/heads/" + branch;
  const Answer now = try_git({"rev-parse", "--verify", "-q", ref});
  if (now.ok() && now.line() == to) return;
  if (!private_ && try_git({"symbolic-ref", "-q", "HEAD"}).line() == ref) {
    throw Error(ErrorCode::environment, "the branch " + branch + " is checked out in your tree",
                "switch to another one and go on: dent optimize --resume");
  }
  const std::string zeros(to.size(), '0');
  const Answer moved = try_git({"update-ref", ref, to, before.value_or(zeros)});
  if (!moved.ok()) {
    throw Error(
        ErrorCode::environment, "git can't set the branch " + branch + ": " + first_line(moved.err),
        "a branch called \"dent\" stands in its way, or somebody has moved it: rename that branch, or set "
        "this one back to " +
            before.value_or("nothing"));
  }
}

std::string Repository::difference(const std::string& from, const std::string& to) const {
  return git({"diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", from, to}).out;
}

bool Repository::has(const std::string& commit) const {
  return try_git({"cat-file", "-e", commit + "^{commit}"}).ok();
}

std::string Repository::mark() const { return "-" + sha256(dent_.string()).substr(0, 8); }

void Repository::remove_worktrees(const fs::path& folder) const {
  std::error_code ignored;
  const fs::path common = root_ / try_git({"rev-parse", "--git-common-dir"}).line();
  const fs::path entries = common / "worktrees";
  if (fs::exists(entries, ignored)) {
    std::vector<fs::path> ours;
    for (const auto& entry : fs::directory_iterator(entries, ignored)) {
      const fs::path tied_to = first_line(text_of(entry.path() / "gitdir"));
      if (is_below(tied_to, folder) || is_left_over(entry.path(), mark())) ours.push_back(entry.path());
    }
    for (const fs::path& entry : ours) fs::remove_all(entry, ignored);
    if (fs::is_empty(entries, ignored)) fs::remove(entries, ignored);
  }
  fs::remove_all(folder, ignored);
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "repository/worktree.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// Copies all files except .git, which links a submodule to its repository.
void copy_tree(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.path().filename() == ".git") continue;
    const fs::path target = to / entry.path().filename();
    if (entry.is_symlink()) {
      fs::copy_symlink(entry.path(), target);
    } else if (entry.is_directory()) {
      copy_tree(entry.path(), target);
    } else if (entry.is_regular_file()) {
      fs::copy_file(entry.path(), target);
    }
  }
}

}  // namespace

Worktree::Worktree(const Repository& repository, fs::path folder, const std::string& commit)
    : repository_(repository), folder_(std::move(folder += repository.mark())), commit_(commit) {
  repository_.remove_worktrees(folder_);
  fs::create_directories(folder_.parent_path());
  repository_.git({"worktree", "add", "-q", "--detach", "--force", folder_.string(), commit});
  git_dir_ = repository_.git({"rev-parse", "--absolute-git-dir"}, folder_).line();
  copy_submodules();
}

Worktree::~Worktree() {
  try {
    repository_.remove_worktrees(folder_);
  } catch (const std::exception&) {  // the next loop removes it
  }
}

// `git worktree add` leaves submodules empty, but a kernel's headers may be in one. Copies them instead of
// linking, so that a build that writes there does not change the user's files.
void Worktree::copy_submodules() const {
  for (const std::string& entry : split(repository_.git({"ls-tree", "-r", "-z", commit_}).out, '\0')) {
    if (entry.rfind("160000 ", 0) != 0) continue;
    const fs::path path = entry.substr(entry.find('\t') + 1);
    const fs::path theirs = repository_.root() / path;
    if (fs::is_directory(theirs)) copy_tree(theirs, folder_ / path);
  }
}

Repository::Environment Worktree::environment() const {
  return {{"GIT_DIR", git_dir_.string()},
          {"GIT_WORK_TREE", folder_.string()},
          {"GIT_INDEX_FILE", (git_dir_ / "index").string()}};
}

Repository::Answer Worktree::git(const std::vector<std::string>& arguments) const {
  return repository_.git(arguments, folder_, environment());
}

// For programs that call git in here, such as a build that asks for its version: they would otherwise find
// the user's repository.
void Worktree::tie_to_repository() const {
  const fs::path file = folder_ / ".git";
  const std::string tie = "gitdir: " + git_dir_.string() + "\n";
  if (fs::is_regular_file(fs::symlink_status(file)) && text_of(file) == tie) return;
  fs::remove_all(file);
  std::ofstream(file) << tie;
}

void Worktree::reset(const std::string& commit) {
  tie_to_repository();
  git({"checkout", "-q", "--force", "--detach", commit});
  git({"clean", "-ffdxq"});
  commit_ = commit;
}

Worktree::Change Worktree::change() const {
  tie_to_repository();
  git({"add", "-A", "--", "."});
  Change change;
  change.tree = git({"write-tree"}).line();
  const std::vector<std::string> diff{"diff",          "--cached",   "--no-ext-diff",
                                      "--no-textconv", "--no-color", "--no-renames"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = diff;
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(commit_);
    return git(arguments).out;
  };
  const std::string prefix = repository_.prefix().empty() ? "" : repository_.prefix().string() + "/";
  change.patch = prefix.empty() ? with({"--binary"}) : with({"--binary", "--relative=" + prefix});
  for (const std::string& file : split(with({"--name-only", "-z"}), '\0')) {
    change.files.push_back(prefix.empty() ? file : fs::path(file).lexically_relative(prefix).string());
  }
  for (const std::string& line : split(with({"--numstat"}), '\n')) {
    int added = 0, removed = 0;
    std::istringstream(line) >> added >> removed;  // "-" for a binary file
    change.lines += added + removed;
  }
  for (const std::string& line : split(with({"--summary"}), '\n')) {
    change.links = change.links || line.find(" 120000") != std::string::npos ||
                   line.find(" 160000") != std::string::npos;
  }
  return change;
}

std::vector<std::string> Worktree::differing_from(const std::string& commit) const {
  tie_to_repository();
  git({"add", "-A", "--", "."});
  return split(git({"diff", "--cached", "--no-ext-diff", "--no-renames", "--name-only", "-z", commit}).out,
               '\0');
}

std::string Worktree::apply(const fs::path& patch) {
  const auto answer =
      repository_.try_git({"apply", "--whitespace=nowarn", patch.string()}, project(), environment());
  if (answer.ok()) return {};
  return answer.err.substr(0, answer.err.find('\n'));
}

}  // namespace dent

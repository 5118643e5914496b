// SPDX-License-Identifier: MIT
// A checkout of its own for candidates, under .dent/. Made at once, removed with the object.
//
// Whoever works in it may do what they like to it, its .git included: git is told with every call which
// repository, index and folder it works on, and never looks for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "repository/repository.h"

namespace dent {

class Worktree {
 public:
  // In `folder`, the repository's mark behind its name. Whatever lies there is removed first: a loop that was
  // killed may have left it half made.
  Worktree(const Repository& repository, std::filesystem::path folder, const std::string& commit);
  ~Worktree();
  Worktree(const Worktree&) = delete;
  Worktree& operator=(const Worktree&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path project() const {  // its folder in here, without a slash at its end
    return repository_.prefix().empty() ? folder_ : folder_ / repository_.prefix();
  }
  const std::string& commit() const { return commit_; }

  void reset(const std::string& commit);  // exactly that commit, nothing else left

  // What differs from the commit, untracked files included, ignored ones not.
  struct Change {
    std::string tree;                // all files as they are, as a git tree
    std::string patch;               // with paths relative to the project's folder
    std::vector<std::string> files;  // the same; "../x" for one above it
    int lines = 0;                   // added and removed
    bool links = false;              // makes a symbolic link or a submodule
  };
  Change change() const;
  // Files that are not as in that commit, or only on one side, relative to the top; ignored ones are left
  // out.
  std::vector<std::string> differing_from(const std::string& commit) const;
  std::string apply(const std::filesystem::path& patch);  // a file; "" or why it does not apply

 private:
  void copy_submodules() const;
  void tie_to_repository() const;                                           // its .git, as git had made it
  Repository::Answer git(const std::vector<std::string>& arguments) const;  // throws Error when it fails
  Repository::Environment environment() const;

  const Repository& repository_;
  std::filesystem::path folder_;
  std::filesystem::path git_dir_;  // that git keeps for it in the repository
  std::string commit_;
};

}  // namespace dent

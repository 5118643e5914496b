// SPDX-License-Identifier: MIT
// A checkout for candidates under .dent/, removed with this object.
//
// Programs may change anything in it, including its .git: every git call of dent names its repository, index
// and folder explicitly.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "repository/repository.h"

namespace dent {

class Worktree {
 public:
  // Created in `folder`, whose name gets the repository's mark. First removes what is there, such as the
  // incomplete worktree of a killed loop.
  Worktree(const Repository& repository, std::filesystem::path folder, const std::string& commit);
  ~Worktree();
  Worktree(const Worktree&) = delete;
  Worktree& operator=(const Worktree&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path project() const {  // the project's folder in it, without a trailing slash
    return repository_.prefix().empty() ? folder_ : folder_ / repository_.prefix();
  }
  const std::string& commit() const { return commit_; }

  void reset(const std::string& commit);  // makes it equal to that commit, without other files

  // Differences from the commit, including untracked but not ignored files.
  struct Change {
    std::string tree;                // all current files, as a git tree
    std::string patch;               // with paths relative to the project's folder
    std::vector<std::string> files;  // likewise; "../x" for a file above it
    int lines = 0;                   // added plus removed
    bool links = false;              // adds a symbolic link or a submodule
  };
  Change change() const;
  // Files that differ from that commit or exist on one side only, relative to the root; ignored files are
  // left out.
  std::vector<std::string> differing_from(const std::string& commit) const;
  std::string apply(const std::filesystem::path& patch);  // returns "", or why it does not apply

 private:
  void copy_submodules() const;
  void tie_to_repository() const;                                           // its .git, as git created it
  Repository::Answer git(const std::vector<std::string>& arguments) const;  // throws Error if it fails
  Repository::Environment environment() const;

  const Repository& repository_;
  std::filesystem::path folder_;
  std::filesystem::path git_dir_;  // folder in which git keeps its state
  std::string commit_;
};

}  // namespace dent

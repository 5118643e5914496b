// SPDX-License-Identifier: MIT
// A project as of a commit, and a comparison of two commits: the earlier commit's kernel is the baseline of
// the later one's, so that both are measured on one machine in one session.
#pragma once

#include <filesystem>
#include <string>

#include "project/project.h"
#include "repository/worktree.h"

namespace dent {

// The full hash of the commit that `revision` names. Throws Error if there is none, or no repository.
std::string commit_named(const Repository& repository, const std::string& revision);
// "3f2a91c hopper: two warpgroups", for people.
std::string in_short(const Repository& repository, const std::string& commit);

// A commit's project in its own worktree, which is removed with this object.
class CommittedProject {
 public:
  // Throws Error if the commit does not contain the project.
  CommittedProject(const Repository& repository, const std::filesystem::path& folder,
                   const std::string& commit);

  const Kernel& kernel() const { return kernel_; }

 private:
  Worktree worktree_;
  Kernel kernel_;  // with the worktree as its directory
};

// `project` with `baseline` as its only baseline, called `name`. Slow shapes don't stop the session and are
// not profiled, so that a regression is measured on every shape.
Project against(Project project, Kernel baseline, std::string name);

}  // namespace dent

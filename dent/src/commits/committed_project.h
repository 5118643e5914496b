// SPDX-License-Identifier: MIT
// A project as a commit has it, and one commit of it against another: the kernel of the earlier one is the
// baseline of the later one, so that both are measured in turn, on one machine, in one session.
#pragma once

#include <filesystem>
#include <string>

#include "project/project.h"
#include "repository/worktree.h"

namespace dent {

// The full name of the commit that `revision` means. Throws Error where there is none, or no repository.
std::string commit_named(const Repository& repository, const std::string& revision);
// "3f2a91c hopper: two warpgroups", for people.
std::string in_short(const Repository& repository, const std::string& commit);

// Lies in a worktree of its own for as long as it lives.
class CommittedProject {
 public:
  // Throws Error where the commit has no such project.
  CommittedProject(const Repository& repository, const std::filesystem::path& folder,
                   const std::string& commit);

  const Kernel& kernel() const { return kernel_; }

 private:
  Worktree worktree_;
  Kernel kernel_;  // with the worktree as its directory
};

// `project` with that baseline alone, called `name`. Nothing but the measurement stops it: a regression is
// measured on every shape, and the profile of what was slow before is no question of it.
Project against(Project project, Kernel baseline, std::string name);

}  // namespace dent

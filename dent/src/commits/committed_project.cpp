// SPDX-License-Identifier: MIT
#include "commits/committed_project.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "project/manifest.h"

namespace dent {

std::string commit_named(const Repository& repository, const std::string& revision) {
  if (repository.is_private()) {
    throw Error(ErrorCode::invalid,
                "this project is in no git repository, so there is nothing to compare with",
                "git init, and commit what there is");
  }
  const auto found =
      repository.try_git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (found.ok()) return found.line();
  throw Error(ErrorCode::invalid, fmt::format("git knows no commit \"{}\"", revision),
              "fetch it first: a shallow clone has few commits (actions/checkout: fetch-depth: 0)");
}

std::string in_short(const Repository& repository, const std::string& commit) {
  return repository.git({"log", "-1", "--format=%h %s", commit}).line();
}

CommittedProject::CommittedProject(const Repository& repository, const std::filesystem::path& folder,
                                   const std::string& commit)
    : worktree_(repository, folder, commit) {
  try {
    kernel_ = read_project(worktree_.project()).kernel;
  } catch (const Error& problem) {
    throw Error(problem.code(), fmt::format("{} has no such project: {}", in_short(repository, commit),
                                            problem.in_one_line()));
  }
  kernel_.directory = worktree_.project();
}

Project against(Project project, Kernel baseline, std::string name) {
  baseline.name = std::move(name);
  project.baselines = {std::move(baseline)};
  project.performance.stop_below = 0;
  project.performance.profile_below = 0;
  return project;
}

}  // namespace dent

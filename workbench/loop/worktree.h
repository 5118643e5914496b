// SPDX-License-Identifier: MIT
// The project's git repository, as far as the loop may touch it: it adds objects, the branch dent/<session>
// and worktrees under .dent/. The user's files, index, stash and branches are read, never written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

class Repository {
 public:
  // `project`: the folder with the manifest, anywhere in a repository. Where there is none, a private one is
  // kept in `dent_folder`. Throws Error when git is missing or the repository can't be used, with the reason.
  Repository(std::filesystem::path project, std::filesystem::path dent_folder);

  const std::filesystem::path& root() const { return root_; }      // the top of the user's tree
  const std::filesystem::path& prefix() const { return prefix_; }  // the project's folder below it
  bool is_private() const { return private_; }

  // The tree as it lies on disk (changed, staged and untracked files of the project, ignored ones aside) as a
  // commit: HEAD itself when nothing differs. Made with an index of our own.
  std::string snapshot(const std::string& session);

  // A commit on `parent` with these files (project-relative) as they are in `worktree`. The same again gives
  // the same commit, for a loop that was killed in between.
  std::string commit(const std::filesystem::path& worktree, const std::string& parent,
                     const std::string& message, std::string_view utc_time);
  void set_branch(const std::string& branch, const std::string& commit);  // creates or moves it
  bool has_commit(const std::string& commit) const;
  std::string difference(const std::string& from, const std::string& to) const;  // as a patch

  // Removes every worktree below `folder`, also one that was left half made.
  void remove_worktrees(const std::filesystem::path& folder);
  std::string git(const std::vector<std::string>& arguments, const std::filesystem::path& in = {},
                  const std::vector<std::pair<std::string, std::string>>& environment = {}) const;

 private:
  std::filesystem::path project_, dent_, root_, prefix_, git_dir_;
  bool private_ = false;
};

// A checkout of its own. Made at once, removed with the object.
class Worktree {
 public:
  Worktree(Repository& repository, std::filesystem::path folder, const std::string& commit);
  ~Worktree();
  Worktree(const Worktree&) = delete;
  Worktree& operator=(const Worktree&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path project() const;  // the project's folder in it

  void reset(const std::string& commit);           // exactly that commit, nothing else left
  std::string patch() const;                       // what differs from the commit, untracked files included
  std::string apply(const std::string& patch);     // "" or why it does not apply
  std::vector<std::string> changed_files() const;  // relative to the project's folder ("../x" above it)

 private:
  Repository& repository_;
  std::filesystem::path folder_;
  std::string commit_;
};

}  // namespace dent

// SPDX-License-Identifier: MIT
// The project's git repository, as far as the loop may touch it: it adds objects, the branch dent/<session>
// and worktrees under .dent/. The user's files, index, stash and branches are read, never written. No hook
// runs, and nothing is collected or repacked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dent {

class Repository {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // `project`: the folder with the manifest, anywhere in a repository. Where there is none, or where the
  // repository ignores the project's `manifest`, a private one is kept in `dent_folder`. Throws Error when
  // git is missing or the repository can't be used, with the reason.
  Repository(std::filesystem::path project, std::filesystem::path dent_folder, const std::string& manifest);

  const std::filesystem::path& root() const { return root_; }      // the top of the user's tree
  const std::filesystem::path& prefix() const { return prefix_; }  // the project's folder below it
  const std::filesystem::path& scratch() const { return scratch_; }
  bool is_private() const { return private_; }

  // The tree as it lies on disk as a commit: changed and staged files everywhere, untracked ones of the
  // project, ignored ones nowhere. HEAD itself when nothing differs. Made with an index of our own.
  std::string snapshot(const std::string& message) const;

  // The same arguments again give the same commit, for a loop that was killed in between. `utc`: as in a
  // record.
  std::string commit(const std::string& tree, const std::optional<std::string>& parent,
                     const std::string& message, std::string_view utc) const;
  // Moves the branch from `before` (nothing: there is none yet). Where it is there already, all is well.
  // Throws Error when somebody else has moved it or has it checked out.
  void move_branch(const std::string& branch, const std::optional<std::string>& before,
                   const std::string& to) const;
  std::string difference(const std::string& from,
                         const std::string& to) const;  // a patch, as for `git apply`
  bool has(const std::string& commit) const;

  // In the names of worktrees' folders, which git takes for its own entries: whose they are, whatever is in
  // them.
  std::string mark() const;
  // Removes every worktree below `folder`, also one that was left half made, and the folder.
  void remove_worktrees(const std::filesystem::path& folder) const;

  struct Answer {
    int code = 0;
    std::string out, err;
    bool ok() const { return code == 0; }
    std::string line() const;  // `out` without its last line end
  };
  // git on this repository, in the user's tree; or in that folder, on the repository that `environment` names
  // or that is found from there.
  Answer try_git(const std::vector<std::string>& arguments, const std::filesystem::path& in = {},
                 const Environment& environment = {}) const;
  Answer git(const std::vector<std::string>& arguments, const std::filesystem::path& in = {},
             const Environment& environment = {}) const;  // throws Error when it fails

 private:
  void open_private();

  std::filesystem::path project_, dent_, scratch_, root_, prefix_, git_dir_;
  bool private_ = false;
};

}  // namespace dent

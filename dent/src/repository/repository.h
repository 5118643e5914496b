// SPDX-License-Identifier: MIT
// The project's git repository. The loop only adds objects, the branch dent/<session> and worktrees under
// .dent/. It reads but never writes the user's files, index, stash and branches, runs no hooks, and starts no
// garbage collection.
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

  // `project`: the manifest's folder, anywhere in a repository. If there is no repository, or it ignores
  // `manifest`, a private one is created in `dent_folder`. Throws Error with the reason if git is missing or
  // the repository can't be used.
  Repository(std::filesystem::path project, std::filesystem::path dent_folder, const std::string& manifest);

  const std::filesystem::path& root() const { return root_; }      // root of the user's tree
  const std::filesystem::path& prefix() const { return prefix_; }  // the project's folder, relative to it
  const std::filesystem::path& scratch() const { return scratch_; }
  bool is_private() const { return private_; }

  // A commit of the current files: changed and staged ones everywhere, untracked ones of the project, no
  // ignored ones. HEAD itself if nothing differs. Uses its own index.
  std::string snapshot(const std::string& message) const;

  // Equal arguments give the same commit, so that a killed loop can continue. `utc`: time as in a record.
  std::string commit(const std::string& tree, const std::optional<std::string>& parent,
                     const std::string& message, std::string_view utc) const;
  // Moves the branch from `before` (nothing: create it) to `to`; no effect if it is there already. Throws
  // Error if it was moved by others or is checked out.
  void move_branch(const std::string& branch, const std::optional<std::string>& before,
                   const std::string& to) const;
  std::string difference(const std::string& from,
                         const std::string& to) const;  // a patch for `git apply`
  bool has(const std::string& commit) const;

  // A mark in the names of this repository's worktree folders, which git uses for its entries: it identifies
  // their owner whatever they contain.
  std::string mark() const;
  // Removes every worktree below `folder`, including incomplete ones, and the folder.
  void remove_worktrees(const std::filesystem::path& folder) const;

  struct Answer {
    int code = 0;
    std::string out, err;
    bool ok() const { return code == 0; }
    std::string line() const;  // `out` without its last line end
  };
  // Runs git on this repository in the user's tree; with `in`, in that folder, on the repository that
  // `environment` names or git finds from there.
  Answer try_git(const std::vector<std::string>& arguments, const std::filesystem::path& in = {},
                 const Environment& environment = {}) const;
  Answer git(const std::vector<std::string>& arguments, const std::filesystem::path& in = {},
             const Environment& environment = {}) const;  // throws Error if it fails

 private:
  void open_private();

  std::filesystem::path project_, dent_, scratch_, root_, prefix_, git_dir_;
  bool private_ = false;
};

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "executors/project_tree.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "system/streams.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
constexpr double kArchiveSeconds = 60;

// What git prints; nothing where it fails.
std::optional<std::string> git(const fs::path& in, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "git");
  CommandAnswer answer = ask({.argv = std::move(arguments), .directory = in}, kArchiveSeconds);
  return answer.ending.clean() ? std::optional(std::move(answer.out)) : std::nullopt;
}

bool is_file(const fs::path& path) {
  std::error_code none;
  const auto status = fs::symlink_status(path, none);
  return fs::is_regular_file(status) || fs::is_symlink(status);
}

std::vector<std::string> everything_in(const fs::path& root) {
  std::vector<std::string> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator();
       ++entry) {
    const std::string name = entry->path().filename();
    if (entry->is_directory() && !entry->is_symlink() && (name == ".git" || name == ".dent")) {
      entry.disable_recursion_pending();
    } else if (is_file(entry->path())) {
      files.push_back(entry->path().lexically_relative(root));
    }
  }
  return files;
}

}  // namespace

std::string ProjectTree::list() const {
  std::string text;
  for (const std::string& file : files) {
    text += file;
    text += '\0';
  }
  return text;
}

std::optional<fs::path> laid_out_root(const fs::path& project) {
  for (fs::path at = fs::canonical(project); at != at.root_path(); at = at.parent_path()) {
    if (fs::exists(at / kTreeMarker)) return at;
  }
  return std::nullopt;
}

void copy_plain_tree(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename();
    if (name == ".git" || name == ".dent" || name == kChangesFolder || name == kTreeMarker) continue;
    if (entry.is_directory() && !entry.is_symlink()) {
      copy_plain_tree(entry.path(), to / name);
    } else if (is_file(entry.path())) {
      fs::copy(entry.path(), to / name, fs::copy_options::copy_symlinks);
    }
  }
}

ProjectTree tree_of(const fs::path& project, const std::string& manifest) {
  ProjectTree tree{.root = fs::canonical(project), .prefix = {}, .files = {}, .identity = {}};
  tree.identity = tree.root.string();
  if (const auto root = laid_out_root(project)) {
    tree.prefix = tree.root == *root ? fs::path() : tree.root.lexically_relative(*root);
    tree.root = *root;
    tree.files = everything_in(tree.root);
    tree.identity = text_of(tree.root / kTreeMarker);
    std::sort(tree.files.begin(), tree.files.end());
    return tree;
  }
  const auto top = git(project, {"rev-parse", "--show-toplevel"});
  if (top) {
    const fs::path root = fs::canonical(trimmed(*top, "\n"));
    const auto listed = git(root, {"ls-files", "-zco", "--exclude-standard", "--deduplicate"});
    const std::string files = listed.value_or("");
    for (std::size_t at = 0, end = 0; (end = files.find('\0', at)) != std::string::npos; at = end + 1) {
      std::string file = files.substr(at, end - at);
      if (is_file(root / file)) tree.files.push_back(std::move(file));  // not one that was deleted
    }
    const fs::path prefix = tree.root.lexically_relative(root);
    std::sort(tree.files.begin(), tree.files.end());
    if (std::binary_search(tree.files.begin(), tree.files.end(),
                           (prefix / manifest).lexically_normal().string()))
      return {root, prefix, std::move(tree.files), root.string()};
  }
  tree.files = everything_in(tree.root);
  std::sort(tree.files.begin(), tree.files.end());
  return tree;
}

}  // namespace dent

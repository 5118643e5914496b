// SPDX-License-Identifier: MIT
#include "loop/proposers/harness.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/sha256.h"
#include "project/choice.h"
#include "project/manifest.h"

namespace dent {
namespace {

std::string python_file(const std::string& function) {
  std::string module = function.substr(0, function.find(':'));
  std::replace(module.begin(), module.end(), '.', '/');
  return module + ".py";
}

void add_sources(std::vector<std::string>& files, const Kernel& kernel) {
  files.insert(files.end(), kernel.sources.begin(), kernel.sources.end());
  if (!kernel.python.empty()) files.push_back(python_file(kernel.python));
}

bool matches(const std::vector<std::string>& patterns, const std::string& file) {
  const std::string plain = std::filesystem::path(file).lexically_normal().string();
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(std::filesystem::path(pattern).lexically_normal().c_str(), plain.c_str(), FNM_PERIOD) == 0;
  });
}

}  // namespace

std::vector<std::string> protected_files(const Project& project) {
  std::vector<std::string> files{kManifestName, kTunedName};
  for (const Kernel& baseline : project.baselines) add_sources(files, baseline);
  const Reference& reference = project.op.reference;
  if (reference.kind == Reference::Kind::python) files.push_back(python_file(reference.entry));
  if (!reference.source.empty()) files.push_back(reference.source);
  if (!project.op.inputs_from.empty()) files.push_back(python_file(project.op.inputs_from));
  files.insert(files.end(), project.optimize.protect.begin(), project.optimize.protect.end());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<std::string> allowed_files(const Project& project) {
  if (!project.optimize.files.empty()) return project.optimize.files;
  std::vector<std::string> files;
  add_sources(files, project.first_rung);
  for (const Variant& variant : project.variants) add_sources(files, variant.kernel);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::string harness_hash(const Project& project) {
  std::string all;
  for (const std::string& file : protected_files(project)) {
    // The manifest was read, and is compared when a loop goes on; the user may take a result over meanwhile.
    if (file != kTunedName && file != kManifestName)
      all += file + " " + sha256_of_file(project.directory / file) + "\n";
  }
  return sha256(all);
}

std::string refusal(const Worktree::Change& change, const std::vector<std::string>& declared,
                    const Project& project) {
  if (change.files.empty()) return "it changes nothing";
  const auto allowed = allowed_files(project), fixed = protected_files(project);
  for (const std::string& file : change.files) {
    if (std::find(declared.begin(), declared.end(), file) == declared.end()) {
      return fmt::format("it changes {}, which it did not declare (declared: {})", file,
                         fmt::join(declared, ", "));
    }
    if (matches(fixed, file)) return fmt::format("it changes {}, which is part of what judges it", file);
    if (!matches(allowed, file)) {
      return fmt::format("it changes {}; a source change may touch {}", file, fmt::join(allowed, ", "));
    }
  }
  if (change.links) return "it makes a link, which could lead out of its folder";
  if (change.lines > project.optimize.patch_lines) {
    return fmt::format("it changes {} lines; one step may change {} (optimize.patch_lines)", change.lines,
                       project.optimize.patch_lines);
  }
  return {};
}

}  // namespace dent

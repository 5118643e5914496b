// SPDX-License-Identifier: MIT
// Builds a project's kernels, and remembers what it has built.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "build/compile.h"
#include "project/project.h"

namespace dent {

class KernelBuilder {
 public:
  // `folder`: the project's .dent; `include`: with dent/kernel.h.
  KernelBuilder(const Project& project, std::filesystem::path folder, std::filesystem::path include);

  const std::filesystem::path& folder() const { return folder_; }

  // Builds it, or finds it built.
  const Built& build(const Kernel& kernel, bool clean = false);
  // As build() left it; builds it where there is nothing that could be loaded.
  const Built& built(const Kernel& kernel);
  // The same sources with more flags, beside the others.
  Built build_sanitized(const Kernel& kernel, std::vector<std::string> flags) const;

  // "" unless the kernel's library or sources have changed since build().
  std::string stale(const Kernel& kernel) const;

 private:
  const Project& project_;
  std::filesystem::path folder_;
  std::filesystem::path include_;
  Cell cell_;
  std::map<std::string, Built> built_;
};

}  // namespace dent

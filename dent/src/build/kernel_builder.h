// SPDX-License-Identifier: MIT
// Builds a project's kernels and remembers the results.
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
  // `folder`: the project's .dent folder. `include`: folder with dent/kernel.h.
  KernelBuilder(const Project& project, std::filesystem::path folder, std::filesystem::path include);

  const std::filesystem::path& folder() const { return folder_; }

  // Builds the kernel, or returns an up-to-date earlier build.
  const Built& build(const Kernel& kernel, bool clean = false);
  // The last result of build(); builds if there is no loadable library.
  const Built& built(const Kernel& kernel);
  // Builds the same sources with additional flags, in a separate folder.
  Built build_sanitized(const Kernel& kernel, std::vector<std::string> flags) const;

  // What changed in the kernel's library or sources since build(); "" if nothing.
  std::string stale(const Kernel& kernel) const;

 private:
  const Project& project_;
  std::filesystem::path folder_;
  std::filesystem::path include_;
  Cell cell_;
  std::map<std::string, Built> built_;
};

}  // namespace dent

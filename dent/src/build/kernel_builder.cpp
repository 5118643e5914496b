// SPDX-License-Identifier: MIT
#include "build/kernel_builder.h"

#include "system/strays.h"

namespace dent {

KernelBuilder::KernelBuilder(const Project& project, std::filesystem::path folder,
                             std::filesystem::path include)
    : project_(project), folder_(std::move(folder)), include_(std::move(include)), cell_(project.sandbox) {}

const Built& KernelBuilder::build(const Kernel& kernel, bool clean) {
  const OrphansLetGo compiling;
  return built_[kernel.name] = build_kernel(project_, kernel,
                                            {.folder = folder_ / "build",
                                             .include = include_,
                                             .clean = clean,
                                             .extra_flags = {},
                                             .cell = cell_});
}

const Built& KernelBuilder::built(const Kernel& kernel) {
  const auto found = built_.find(kernel.name);
  return found != built_.end() && found->second.ok ? found->second : build(kernel);
}

Built KernelBuilder::build_sanitized(const Kernel& kernel, std::vector<std::string> flags) const {
  const OrphansLetGo compiling;
  return build_kernel(project_, kernel,
                      {.folder = folder_ / "sanitized",
                       .include = include_,
                       .clean = false,
                       .extra_flags = std::move(flags),
                       .cell = cell_});
}

std::string KernelBuilder::stale(const Kernel& kernel) const {
  const auto found = built_.find(kernel.name);
  return found == built_.end() ? "" : staleness(found->second);
}

}  // namespace dent

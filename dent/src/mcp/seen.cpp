// SPDX-License-Identifier: MIT
#include "mcp/seen.h"

#include "base/error.h"
#include "base/text.h"
#include "project/manifest.h"
#include "suites/suite.h"

namespace dent::mcp {

namespace fs = std::filesystem;

Seen::Seen(fs::path root) : root_(std::move(root)) {
  try {
    for (const std::string& project : projects_below(root_)) {
      const fs::path folder = fs::weakly_canonical(root_ / project);
      manifests_[folder] = text_of(folder / kManifestName);
    }
  } catch (const Error&) {  // there is none yet
  }
}

std::string Seen::manifest_of(const fs::path& project) const {
  const auto found = manifests_.find(project);
  return found == manifests_.end() ? "" : found->second;
}

}  // namespace dent::mcp

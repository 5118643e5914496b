// SPDX-License-Identifier: MIT
#include "suites/imported.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "project/choice.h"
#include "project/manifest.h"
#include "project/untrusted.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongest = 120;

bool is_plain(const std::string& name) {
  const auto takes = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= kLongest && name.front() != '.' && std::ranges::all_of(name, takes);
}

}  // namespace

std::string fault_of(const ImportedTask& task, const fs::path& folder, const std::vector<fs::path>& named) {
  if (!is_plain(task.name)) return "its name is none for a folder";
  for (const auto& [name, content] : task.files) {
    for (const fs::path& part : fs::path(name))
      if (!is_plain(part.string())) return "a file of it has a name that is none: " + printable(name);
    if (name == kTunedName) return "it brings settings of its own: " + name;
  }
  const auto manifest = task.files.find(kManifestName);
  if (manifest == task.files.end()) return "it has no manifest";
  try {
    check_untrusted_manifest(manifest->second, folder, {.root = folder, .folders = named});
    parse_project(manifest->second, folder);
  } catch (const Error& problem) {
    return problem.in_one_line();
  }
  return {};
}

}  // namespace dent

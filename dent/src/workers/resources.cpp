// SPDX-License-Identifier: MIT
#include "workers/resources.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "project/untrusted.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

fs::path first_of(const std::vector<fs::path>& candidates) {
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate)) return candidate;
  }
  throw Error(ErrorCode::environment,
              "dent is not installed completely: missing " + candidates.front().string(),
              "build it again: cmake --build <folder> --target dent dent-worker dent-oracle");
}

}  // namespace

Resources find_resources() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path installed = here.parent_path();
  return {.native_worker = first_of({here / "dent-worker", installed / "libexec/dent/dent-worker"}),
          .oracle = first_of({here / "dent-oracle", installed / "libexec/dent/dent-oracle"}),
          .python_worker =
              first_of({here / "share/dent/dent_worker.py", installed / "share/dent/dent_worker.py"}),
          .include = first_of({here / "share/dent/include", installed / "share/dent/include"}),
          .diagnose = first_of({here / "share/dent/diagnose", installed / "share/dent/diagnose"}),
          .patterns = first_of({here / "share/dent/patterns", installed / "share/dent/patterns"})};
}

std::string find_python(const fs::path& project, const std::string& chosen) {
  // Absolute paths, since workers run in other folders. Symbolic links are kept, because the link's location
  // is what identifies a virtual environment.
  const auto in = [](const fs::path& folder, const std::string& python) {
    return python.find('/') == std::string::npos ? python : (folder / python).lexically_normal().string();
  };
  if (!chosen.empty()) return in(project, chosen);
  if (const char* python = std::getenv("DENT_PYTHON"); python != nullptr && *python != '\0')
    return in(fs::current_path(), python);
  if (reads_untrusted()) return "python3";
  for (fs::path folder = project;; folder = folder.parent_path()) {
    const fs::path python = folder / ".venv/bin/python";
    if (access(python.c_str(), X_OK) == 0) return python;
    if (folder == folder.parent_path()) return "python3";
  }
}

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "suites/flashinfer.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& folder, const std::function<bool(const fs::path&)>& wanted) {
  std::vector<fs::path> files;
  std::error_code problem;
  for (fs::recursive_directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    if (entry->is_regular_file(problem) && wanted(entry->path()))
      files.push_back(fs::absolute(entry->path()).lexically_normal());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<fs::path> flashinfer_tasks(const fs::path& where) {
  std::error_code problem;
  if (fs::is_regular_file(where, problem)) return {fs::absolute(where).lexically_normal()};
  const auto any_json = [](const fs::path& file) { return file.extension() == ".json"; };
  std::vector<fs::path> tasks = files_in(where / "definitions", any_json);
  if (tasks.empty())
    tasks = files_in(where, [](const fs::path& file) { return file.filename() == "definition.json"; });
  if (tasks.empty()) tasks = files_in(where, any_json);
  if (tasks.empty()) {
    throw Error(ErrorCode::invalid, "no definitions in " + where.string(),
                "name a definition (a JSON file), or a folder with definitions/ in it");
  }
  return tasks;
}

fs::path trace_set_of(const fs::path& definition) {
  for (fs::path folder = definition.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (folder.filename() == "definitions") return folder.parent_path();
  }
  return definition.parent_path();
}

}  // namespace dent

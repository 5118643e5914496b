// SPDX-License-Identifier: MIT
#include "suites/kernelbench.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/error.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// "19_ReLU.py" -> 19; files without a number come last.
int number_of(const fs::path& file) {
  const std::string name = file.filename().string();
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && end != name.data() ? number : 1 << 30;
}

}  // namespace

std::vector<fs::path> kernelbench_tasks(const fs::path& where) {
  std::error_code problem;
  if (fs::is_regular_file(where, problem)) return {fs::absolute(where).lexically_normal()};
  std::vector<fs::path> tasks;
  for (const auto& entry : fs::directory_iterator(where, problem)) {
    if (entry.path().extension() == ".py") tasks.push_back(fs::absolute(entry.path()).lexically_normal());
  }
  if (tasks.empty()) {
    throw Error(ErrorCode::invalid, "no tasks in " + where.string(),
                "name a file or a folder of a checkout of KernelBench: KernelBench/level1");
  }
  std::sort(tasks.begin(), tasks.end(), [](const fs::path& a, const fs::path& b) {
    const int left = number_of(a), right = number_of(b);
    return left == right ? a < b : left < right;
  });
  return tasks;
}

}  // namespace dent

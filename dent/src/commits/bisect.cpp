// SPDX-License-Identifier: MIT
#include "commits/bisect.h"

#include <fmt/format.h>

#include <bit>
#include <set>
#include <sstream>

#include "base/error.h"

namespace dent {
namespace {

// Commits that may be the first bad one, including `bad`: those after all good ones, best bisection point
// first.
std::vector<std::string> suspects_of(const Repository& repository, const std::vector<std::string>& good,
                                     const std::string& bad) {
  std::vector<std::string> arguments{"rev-list", "--bisect-all", bad};
  for (const std::string& commit : good) arguments.push_back("^" + commit);
  std::istringstream lines(repository.git(arguments).out);
  std::vector<std::string> suspects;
  for (std::string line; std::getline(lines, line);) suspects.push_back(line.substr(0, line.find(' ')));
  return suspects;
}

}  // namespace

std::vector<std::string> bisect(const Repository& repository, const std::string& good, std::string bad,
                                const std::function<Standing(const std::string& commit)>& judge) {
  if (!repository.try_git({"merge-base", "--is-ancestor", good, bad}).ok()) {
    throw Error(
        ErrorCode::invalid,
        fmt::format("{:.12} is no ancestor of {:.12}: no commit between them can be the first", good, bad),
        "name an older commit that was fast first, and one behind it that is slow second");
  }
  std::vector<std::string> all_good{good};
  std::set<std::string> unknown;
  for (;;) {
    const auto suspects = suspects_of(repository, all_good, bad);
    std::string next;
    for (const std::string& commit : suspects) {
      if (commit == bad || unknown.contains(commit)) continue;
      next = commit;
      break;
    }
    if (next.empty()) return suspects;
    switch (judge(next)) {
      case Standing::as_good:
        all_good.push_back(next);
        break;
      case Standing::as_bad:
        bad = next;
        break;
      case Standing::unknown:
        unknown.insert(next);
        break;
    }
  }
}

int halvings(const Repository& repository, const std::string& good, const std::string& bad) {
  const auto suspects = suspects_of(repository, {good}, bad);
  return std::bit_width(suspects.size()) - (std::has_single_bit(suspects.size()) ? 1 : 0);
}

}  // namespace dent

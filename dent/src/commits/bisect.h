// SPDX-License-Identifier: MIT
// Finds the first slower commit by bisection.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "repository/repository.h"

namespace dent {

enum class Standing { as_good, as_bad, unknown };  // unknown: not built, wrong, or no clear verdict

// Returns the first bad commit, together with neighbours that could not be judged. Calls `judge` at most once
// per commit. Throws Error unless `good` is an ancestor of `bad`.
std::vector<std::string> bisect(const Repository& repository, const std::string& good, std::string bad,
                                const std::function<Standing(const std::string& commit)>& judge);

// Approximate number of commits that bisect() will judge.
int halvings(const Repository& repository, const std::string& good, const std::string& bad);

}  // namespace dent

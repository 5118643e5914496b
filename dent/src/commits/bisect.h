// SPDX-License-Identifier: MIT
// The first commit that is slower, by halves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "repository/repository.h"

namespace dent {

enum class Standing { as_good, as_bad, unknown };  // unknown: it does not build, is wrong, or can't be told

// What is left when nothing more can be learned: the first bad commit; with others where commits beside it
// are unknown.
// `judge` is asked about a commit at most once. Throws Error where `good` is no ancestor of `bad`.
std::vector<std::string> bisect(const Repository& repository, const std::string& good, std::string bad,
                                const std::function<Standing(const std::string& commit)>& judge);

// How many commits will be asked about, about.
int halvings(const Repository& repository, const std::string& good, const std::string& bad);

}  // namespace dent

// SPDX-License-Identifier: MIT
// The environment of a cell: of ours only what a program needs to run and to be measured. Tokens, agents'
// sockets and the names of the user's folders stay outside.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dent {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Whether a variable of that name goes along unasked.
bool is_usual_variable(std::string_view name);

// The usual ones and those of `names` from our environment, then `more`, which wins.
Variables cell_variables(const std::vector<std::string>& names, const Variables& more);

}  // namespace dent

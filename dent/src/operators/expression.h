// SPDX-License-Identifier: MIT
// Arithmetic over the named sizes of a problem, as manifests write it: "4*B*H*S*S*D", "S/2", "min(S, 128)".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

using Numbers =
    std::map<std::string, double, std::less<>>;  // dimensions and parameters of one problem, by name

// + - * / % with the usual precedence, parentheses, min, max, ceil, floor, log2, sqrt. Throws Error with the
// text and the place in it; an unknown name is answered with the names there are.
double evaluate(std::string_view text, const Numbers& numbers);

// The names that occur in it.
std::vector<std::string> names_in(std::string_view text);

}  // namespace dent

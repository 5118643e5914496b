// SPDX-License-Identifier: MIT
// Evaluates arithmetic over the named sizes of a problem: "4*B*H*S*S*D", "S/2", "min(S, 128)".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dent {

using Numbers =
    std::map<std::string, double, std::less<>>;  // dimensions and parameters of one problem, by name

// Supports + - * / % with the usual precedence, parentheses, min, max, ceil, floor, log2, sqrt. Throws Error
// with the text and the position; for an unknown name it lists the known ones.
double evaluate(std::string_view text, const Numbers& numbers);

// Names used in the text.
std::vector<std::string> names_in(std::string_view text);

}  // namespace dent

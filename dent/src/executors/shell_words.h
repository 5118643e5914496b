// SPDX-License-Identifier: MIT
// Words for a POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dent {

// One word, whatever is in it: blanks, quotes, newlines, dollars.
std::string quoted(std::string_view word);
std::string quoted_if_needed(std::string_view word);        // for people: a plain word as it is
std::string quoted(const std::vector<std::string>& words);  // with blanks between

}  // namespace dent

// SPDX-License-Identifier: MIT
#include "diagnose/profile.h"

#include <algorithm>
#include <string_view>

#include "build/ptxas.h"

namespace dent {

std::string short_name(const std::string& kernel) {
  std::string written = demangled(kernel);
  for (const std::string_view unnamed : {"(anonymous namespace)::", "<unnamed>::"}) {
    for (auto at = written.find(unnamed); at != std::string::npos; at = written.find(unnamed)) {
      written.erase(at, unnamed.size());
    }
  }
  std::string name = written.substr(0, written.find_first_of("<("));
  if (const auto blank = name.find_last_of(' '); blank != std::string::npos) name.erase(0, blank + 1);
  if (const auto colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return name.empty() ? written : name;
}

}  // namespace dent

// SPDX-License-Identifier: MIT
// Which run caught each mutant when that was recorded: killed_by.txt, a line for each.
#pragma once

#include <map>
#include <string>

namespace flashmoe::test {

class Killers {
 public:
  // Throws if a line has not three parts.
  explicit Killers(const std::string& path);
  void save() const;

  // A run's name, or "" if none is known.
  std::string of(const std::string& form, const std::string& what) const;
  void set(const std::string& form, const std::string& what, const std::string& run);
  // Forgets all forms of a kernel.
  void forget(const std::string& kernel);

 private:
  std::string path_;
  std::map<std::string, std::string> runs_;  // by "form | what"
};

}  // namespace flashmoe::test

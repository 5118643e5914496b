// SPDX-License-Identifier: MIT
#include "model/mutants/registry.h"

namespace flashmoe::test {

std::vector<Mutant>& mutants() {
  static std::vector<Mutant> all;
  return all;
}

Registration::Registration(const std::string& kernel, const char* mistake, decltype(Mutant::run) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .run = run});
}

Registration::Registration(const std::string& kernel, const char* mistake,
                           decltype(Mutant::run_backward) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .run_backward = run});
}

Registration::Registration(const std::string& kernel, const char* mistake, decltype(Mutant::prepare) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .prepare = run});
}

Registration::Registration(const std::string& kernel, const char* mistake,
                           decltype(Mutant::prepare_rows) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .prepare_rows = run});
}

}  // namespace flashmoe::test

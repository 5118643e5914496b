// SPDX-License-Identifier: MIT
#include "model/mutants/killers.h"

#include <fstream>
#include <stdexcept>

namespace flashmoe::test {
namespace {

constexpr const char* kHead =
    "# Which run caught each mutant: form | mistake | run. Recorded by `cmake --build --preset release "
    "--target record_mutants`.\n";

}  // namespace

Killers::Killers(const std::string& path) : path_(path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t last = line.rfind(" | ");
    if (last == std::string::npos || line.find(" | ") == last)
      throw std::runtime_error(path + ": not `form | mistake | run`: " + line);
    runs_[line.substr(0, last)] = line.substr(last + 3);
  }
}

void Killers::save() const {
  std::ofstream file(path_);
  file << kHead;
  for (const auto& [mutant, run] : runs_) file << mutant << " | " << run << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path_);
}

std::string Killers::of(const std::string& form, const std::string& what) const {
  const auto found = runs_.find(form + " | " + what);
  return found == runs_.end() ? "" : found->second;
}

void Killers::set(const std::string& form, const std::string& what, const std::string& run) {
  runs_[form + " | " + what] = run;
}

void Killers::forget(const std::string& kernel) {  // a form's name goes on behind a space or a comma
  std::erase_if(runs_, [&](const auto& one) {
    return one.first.starts_with(kernel + " ") || one.first.starts_with(kernel + ",");
  });
}

}  // namespace flashmoe::test
